# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools end with an error where the compiler crashes, and else as their child does."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlir_tile as mt
from mlir_tile import _tile
from tile_tools import guard

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir")

START = """
import ctypes, faulthandler, os, sys, time
from mlir_tile import legalize
legalize.PATTERNS["tile.copy_async"] = lambda op, rewriter: {do}
from tile_tools.{tool} import command
sys.argv = ["tile-{tool}", *{arguments}]
sys.exit(command())
"""

COMPILE = ("compile", [EXAMPLE, "--to", "legalize"])
OPT = ("opt", [EXAMPLE, "--tile-insert-sync", "--tile-analyze-layout", "--tile-legalize-to-nvvm"])
RUN = ("run", [EXAMPLE, "--device", "emulator"])
ARRAYS = ["--arg", "zeros:128x64xf16", "--arg", "zeros:128x64xf16"]

WHERE = " in pass 'tile-legalize-to-nvvm' at "


def start(tool: str, arguments: list[str], do: str) -> subprocess.Popen[str]:
    """Start a tool whose legalization does `do`, as a shell with job control would."""
    return subprocess.Popen(
        [sys.executable, "-c", START.format(do=do, tool=tool, arguments=arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=os.setpgrp,
    )  # fmt: skip


def run(tool: str, arguments: list[str], do: str) -> tuple[int, str, str]:
    """Run it to its end; return the status, stdout and stderr."""
    with start(tool, arguments, do) as process:
        stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


@pytest.mark.parametrize(
    ("do", "how"),
    [
        ("os.abort()", "Aborted"),
        ("ctypes.string_at(0)", "Segmentation fault"),
        ("faulthandler._stack_overflow()", "Segmentation fault"),
        ("os.kill(os.getpid(), 9)", "Killed"),
        ("ctypes.PyDLL(None).exit(3)", "it ended the process with status 3"),
    ],
)
def test_a_crash_is_an_error_and_status_1(do: str, how: str) -> None:
    status, stdout, stderr = run(*COMPILE, do)
    assert (status, stdout) == (1, "")
    assert stderr.startswith(f"error: internal error of the compiler{WHERE}{EXAMPLE}:")
    assert stderr.endswith(f": {how}; report it with the input\n") and stderr.count("\n") == 1


@pytest.mark.parametrize(("tool", "arguments"), [OPT, RUN], ids=["opt", "run"])
def test_each_tool_that_compiles_has_the_net(tool: str, arguments: list[str]) -> None:
    more = ARRAYS if tool == "run" else []
    status, stdout, stderr = run(tool, [*arguments, *more], "os.abort()")
    assert (status, stdout) == (1, "")
    where = stderr.removeprefix("error: internal error of the compiler").removesuffix(
        ": Aborted; report it with the input\n"
    )
    # MLIR's own command line says what it does by flags of its own.
    assert where == "" if tool == "opt" else where.startswith(WHERE)


def test_a_reason_that_llvm_gives_is_kept() -> None:
    status, _, stderr = run(*OPT, "(os.write(2, b'LLVM ERROR: no way\\n'), os.abort())")
    first, second = stderr.splitlines()
    assert (status, first) == (1, "LLVM ERROR: no way")
    assert second.startswith("error: internal error of the compiler: Aborted")


@pytest.mark.parametrize("tool", ["compile", "layout", "run"])
def test_a_crash_of_the_parser_is_an_error(tool: str, tmp_path: Path) -> None:
    content = io.BytesIO()
    with mt.context():
        module = mt.parse("func.func @main(%a: memref<4xf32>) { return }")
        module.operation.write_bytecode(content)
    right = content.getvalue()
    wrong = right[:31] + b"\1" + right[32:]
    for name, given in (("right", right), ("wrong", wrong)):
        file = tmp_path / f"{name}.mlirbc"
        file.write_bytes(given)
        arguments = [str(file), *(["--to", "nvvm"] if tool == "compile" else [])]
        status, _, stderr = run(tool, arguments, "None")
        if name == "right":
            assert "internal error" not in stderr and "Assertion" not in stderr
    reason, said = stderr.splitlines()
    assert status == 1 and reason.endswith("Assertion `idx < size()' failed.")
    assert said == "error: internal error of the compiler: Aborted; report it with the input"


ABORTS = """
func.func @main() attributes {llvm.emit_c_interface} {
  %false = arith.constant false
  cf.assert %false, "never"
  return
}
"""


def test_a_crash_of_the_program_is_not_called_one_of_the_compiler(tmp_path: Path) -> None:
    file = tmp_path / "aborts.mlir"
    file.write_text(ABORTS)
    status, stdout, stderr = run("run", [str(file), "--device", "emulator"], "None")
    assert (status, stdout) == (1, "never\n")
    said = stderr.splitlines()[-1]
    assert said == "error: crash in the program's host code, or in generating it: Aborted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_parent_and_child(number: int, hanging: tuple[subprocess.Popen[str], int]):
    parent, child = hanging
    parent.send_signal(number)
    stdout, stderr = parent.communicate(timeout=60)
    assert (parent.returncode, stdout, stderr) == (-number, "", "")
    assert state_becomes(child, "X")


def test_a_tool_works_where_children_are_ignored() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with start(*COMPILE, "os.abort()") as process:
            _, stderr = process.communicate(timeout=120)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert stderr.endswith(": Aborted; report it with the input\n")


def test_a_signal_to_the_child_ends_the_parent_by_it(
    hanging: tuple[subprocess.Popen[str], int],
) -> None:
    parent, child = hanging
    os.kill(child, signal.SIGTERM)
    stdout, stderr = parent.communicate(timeout=60)
    assert (parent.returncode, stdout, stderr) == (-signal.SIGTERM, "", "")


def test_a_tool_can_be_stopped_and_continued(
    hanging: tuple[subprocess.Popen[str], int],
) -> None:
    parent, child = hanging
    for number, state in ((signal.SIGTSTP, "T"), (signal.SIGCONT, "S")) * 2:
        parent.send_signal(number)
        assert state_becomes(parent.pid, state) and state_becomes(child, state)


@pytest.fixture
def hanging() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Give a tool that waits in a pass, and its child."""
    parent = start(*COMPILE, "(print(os.getpid(), flush=True), time.sleep(600))")
    with parent:
        try:
            assert parent.stdout is not None
            yield parent, int(parent.stdout.readline())
        finally:
            parent.kill()


def state_becomes(pid: int, state: str) -> bool:
    """Wait until a process is in a state, X if it has ended: a minute at most."""
    until = time.monotonic() + 60
    while (found := state_of(pid)) != state and time.monotonic() < until:
        time.sleep(0.01)
    return found == state


def state_of(pid: int) -> str:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
    return "X" if state == "Z" else state


def test_the_record_is_the_extensions() -> None:
    assert (guard._PASS_BYTES, guard._WATCH_BYTES) == (_tile.WATCH_PASS_BYTES, _tile.WATCH_BYTES)
    with pytest.raises(ValueError, match="must have WATCH_BYTES bytes"):
        _tile.watch(mt.context(), bytearray(1))
