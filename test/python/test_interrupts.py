# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C ends each tool at once, by the signal and without a traceback, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# The emulator's budget is longer than the test waits.
SPIN = """\
.version 8.1
.target sm_90
.address_size 64
.visible .entry spin() {
again:
  bra again;
}
"""
# Each copy takes milliseconds to plan: minutes in all, inside one pass.
COPY = "tile.copy_async %s to %d cta(%r) mbarrier(%b[%i]) issue(cta) : !src to !dst, !bars\n"
BUSY = f"""\
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
!src = memref<256x256xf32, #wg>
!dst = memref<256x256xf32, #tile.layout<(256, 256) : (1, 256)>, #wg>
gpu.module @kernels {{
gpu.func @busy(%r: i32, %b: !bars, %i: index) workgroup(%s: !src, %d: !dst) kernel
    attributes {{known_block_size = array<i32: 256, 1, 1>}} {{
{COPY * 20000}
gpu.return
}}
}}
func.func @main() attributes {{llvm.emit_c_interface}} {{ return }}
"""
TOOLS = {
    "opt": ["busy.mlir", "-tile-analyze-layout"],
    "compile": ["busy.mlir", "--to", "analyze"],
    "layout": ["busy.mlir"],
    "run": ["busy.mlir"],
    "emulate": ["spin.ptx"],
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("tool", TOOLS)
def test_an_interrupt_ends_a_tool_that_is_busy(tool: str, tmp_path: Path) -> None:
    (tmp_path / "busy.mlir").write_text(BUSY)
    (tmp_path / "spin.ptx").write_text(SPIN)
    process = subprocess.Popen(
        [sys.executable, "-m", f"tile_tools.{tool}", *TOOLS[tool]],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_for_cpu_seconds(process, 2.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=10)
        assert time.monotonic() - began < 5
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGINT
    assert (stdout, stderr) == ("", "")


def wait_for_cpu_seconds(process: subprocess.Popen[str], seconds: float) -> None:
    """Return when the process or its child has worked so long: past its start, however slow."""
    for _ in range(1200):
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
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
