# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C ends each tool at once, by the signal and without a traceback, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

SECONDS = 600
"""How long a tool may take before it is called hung."""

SPIN = """\
.version 8.1
.target sm_90
.address_size 64
.visible .entry spin() {
again:
  bra again;
}
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir"
# Found by the tools as an installed package is, it never returns to Python from where it is told.
ENDLESS = """\
import ctypes, os
import mlir_tile as mt


def work(op=None):
    os.write(int(os.environ["STARTED"]), b"started")
    while True:
        ctypes.PyDLL(None).pause()


if os.environ["WHERE"] == "in a pass":
    mt.replace_variant("bulk", work)
else:
    work()
"""
TOOLS = {
    "opt": (["copy.mlir", "-tile-to-binary"], "in a pass"),
    "compile": (["copy.mlir", "--to", "ptx"], "in a pass"),
    "run": (["copy.mlir"], "in a pass"),
    "layout": (["copy.mlir"], "in an import"),
}


def begin(tool: str, arguments: list[str], folder: Path, **more: Any) -> subprocess.Popen[str]:
    (folder / "copy.mlir").write_text(EXAMPLE.read_text())
    (folder / "spin.ptx").write_text(SPIN)
    return subprocess.Popen(
        [sys.executable, "-m", f"tile_tools.{tool}", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **more,
    )  # fmt: skip


def interrupt(process: subprocess.Popen[str]) -> None:
    """Check that Ctrl-C ends what would never end by itself."""
    try:
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGINT
    assert stderr == ""


@pytest.mark.parametrize("tool", TOOLS)
def test_an_interrupt_ends_a_tool_that_does_not_come_back_to_python(
    tool: str, tmp_path: Path
) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    info = tmp_path / "endless-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: endless\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mlir_tile.variants]\nendless = endless\n")
    arguments, where = TOOLS[tool]
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    read_end, write_end = os.pipe()
    told = {"PYTHONPATH": paths, "STARTED": str(write_end), "WHERE": where}
    process = begin(tool, arguments, tmp_path, env={**os.environ, **told}, pass_fds=[write_end])
    os.close(write_end)
    with os.fdopen(read_end, "rb") as started:
        assert started.read(7) == b"started", process.communicate()
    interrupt(process)


def test_an_interrupt_ends_an_emulation(tmp_path: Path) -> None:
    limits = ["--max-steps", str(10**18), "--max-seconds", "1e9"]
    process = begin("emulate", ["spin.ptx", *limits], tmp_path)
    wait_for_cpu_seconds(process, 2.5)
    interrupt(process)


def wait_for_cpu_seconds(process: subprocess.Popen[str], seconds: float) -> None:
    """Return when the process or its child has worked so long: past its start, on most machines."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if max(map(cpu_seconds, [process.pid, *map(int, children)])) >= seconds:
            return
        time.sleep(0.05)
    raise AssertionError("the tool does nothing")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_interrupt_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As a shell starts jobs in the background."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from tile_tools.startup import end_on_interrupt\n"
        "end_on_interrupt()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=SECONDS)
