# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an isolated compilation gives its caller: the same as any, or a crash as an exception."""

from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile import legalize

EXAMPLE = Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir"
TEXT = EXAMPLE.read_text()
COPY_AT = next(
    f"{number}:{line.index('tile.copy_async') + 1}"
    for number, line in enumerate(TEXT.split("\n"), 1)
    if line.strip().startswith("tile.copy_async")
)
WRONG = "func.func @f() -> i32 {\n  return\n}\n"
SUSPECT = """
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!t = memref<16xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @k(%r: i32, %i: index) workgroup(%s: !t, %d: !t) kernel {
    %bars = nvgpu.mbarrier.create -> !bars
    tile.copy_async %s to %d cta(%r) mbarrier(%bars[%i]) : !t to !t, !bars
    gpu.return
  }
}
"""


def say_and_abort() -> None:
    os.write(2, b"LLVM ERROR: cannot select this\n")
    os.abort()


def loop() -> None:
    while True:
        pass


CRASHES: dict[str, tuple[Callable[[], object], str]] = {
    "abort": (os.abort, "Aborted (SIGABRT)"),
    "message": (say_and_abort, "LLVM ERROR: cannot select this"),
    "segmentation fault": (lambda: ctypes.string_at(0), "Segmentation fault (SIGSEGV)"),
    "stack overflow": (faulthandler._stack_overflow, "Segmentation fault (SIGSEGV)"),  # type: ignore[attr-defined]
    "exit": (lambda: ctypes.PyDLL(None).exit(3), "it ended the process with status 3"),
    "kill": (lambda: os.kill(os.getpid(), signal.SIGKILL), "Killed (SIGKILL)"),
    "loop": (loop, "it was given 1.0 s"),
}


@pytest.fixture
def legalize_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    def patch(do: Callable[[], object]) -> None:
        monkeypatch.setitem(legalize.PATTERNS, "tile.copy_async", lambda op, rewriter: do())

    return patch


@pytest.mark.parametrize("kind", CRASHES)
def test_a_crash_is_an_exception(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    do, text = CRASHES[kind]
    with mt.context():
        module = mt.parse_file(EXAMPLE)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(legalize.PATTERNS, "tile.copy_async", lambda op, rewriter: do())
            with pytest.raises(mt.CompilerCrash) as caught:
                mt.compile(module, isolate=True, timeout=1.0 if kind == "loop" else 60)
        assert set(mt.compile(module, isolate=True).ptx) == {"kernels"}
    crash = caught.value
    place = f"{EXAMPLE}:{COPY_AT}"
    assert (crash.text, crash.pass_name, crash.place) == (text, "tile-legalize-to-nvvm", place)
    assert crash.timed_out == (kind == "loop")
    assert f" in pass 'tile-legalize-to-nvvm' at {place}: {text}\n" in str(crash)
    assert crash.input.startswith(b"ML\xefR")
    assert capfd.readouterr() == ("", "")


def test_a_crash_of_the_parser_has_no_pass() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlir_tile.program.parse", lambda text: os.abort())
        with pytest.raises(mt.CompilerCrash) as caught:
            mt.compile("module {}", isolate=True)
    assert (caught.value.pass_name, caught.value.place) == ("", "")
    assert caught.value.input == b"module {}"
    assert str(caught.value).startswith("internal error of the compiler: Aborted (SIGABRT)\n")


def as_bytecode(text: str) -> bytes:
    with mt.context():
        content = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(content)
        return content.getvalue()


SMALL = "func.func @main(%a: memref<4xf32>) { return }"
DAMAGES = [
    (31, 1, "Assertion `idx < size()' failed."),
    (21, 64, "LLVM ERROR: SmallVector unable to grow."),
    (100, 1, "it was given 1.0 s"),
]
"""Bytes of the bytecode of `SMALL` of which upstream's reader makes that."""


@pytest.mark.parametrize(("place", "byte", "text"), DAMAGES)
def test_crashes_of_upstream_are_exceptions(place: int, byte: int, text: str) -> None:
    content = bytearray(as_bytecode(SMALL))
    content[place] = byte
    with pytest.raises(mt.CompilerCrash) as caught:
        mt.compile(bytes(content), isolate=True, timeout=1.0 if "1.0" in text else 60)
    assert text in caught.value.text
    assert caught.value.input == content


@pytest.mark.parametrize("given", [TEXT, TEXT.encode(), as_bytecode(TEXT)])
@pytest.mark.parametrize("isolate", [False, True])
def test_text_and_bytecode_are_compiled(given: str | bytes, isolate: bool) -> None:
    program = mt.compile(given, isolate=isolate)
    a = np.random.default_rng(0).random((128, 64)).astype(np.float16)
    b = np.zeros_like(a)
    program.invoke("main", a, b, device="emulator")
    assert (a == b).all()


def test_the_ptx_is_the_same() -> None:
    options: dict[str, Any] = {"chip": "sm_100", "features": "+ptx86", "opt_level": 2}
    plain = mt.compile(TEXT, **options, line_info=True)
    isolated = mt.compile(TEXT, **options, line_info=True, isolate=True)
    assert isolated.ptx == plain.ptx
    assert isolated.ptx != mt.compile(TEXT).ptx


@pytest.mark.parametrize("given", ["module", "func.func @f( {", WRONG])
def test_what_is_wrong_with_the_input_is_the_same(given: str) -> None:
    errors = []
    for isolate in (False, True):
        with pytest.raises(mt.CompileError) as caught:
            mt.compile(given, isolate=isolate)
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    assert errors[0].diagnostics == errors[1].diagnostics != []


def test_warnings_are_the_same_and_the_callers() -> None:
    said = []
    for isolate in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mt.compile(SUSPECT, isolate=isolate)
        assert {w.filename for w in caught} == {__file__}
        said.append([(w.category, str(w.message)) for w in caught])
    assert said[0] == said[1] != []
    assert said[0][0][0] is mt.CompileWarning
    with warnings.catch_warnings():
        warnings.simplefilter("error", mt.CompileWarning)
        with pytest.raises(mt.CompileWarning):
            mt.compile(SUSPECT, isolate=True)


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("both")


def test_what_a_pattern_raises_arrives(legalize_with: Any) -> None:
    def raises(error: BaseException) -> Callable[[], None]:
        def do() -> None:
            raise error

        return do

    legalize_with(raises(LookupError("not there")))
    with pytest.raises(LookupError, match="not there") as caught:
        mt.compile(TEXT, isolate=True)
    assert "in do\n" in str(caught.value.__cause__)
    legalize_with(raises(Odd(1, 2)))  # cannot be unpickled
    with pytest.raises(mt.Error, match="Odd: both"):
        mt.compile(TEXT, isolate=True)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="isolate must be True or False, got 1"):
        mt.compile(TEXT, isolate=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout needs isolate=True"):
        mt.compile(TEXT, timeout=3)
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds, got 0"):
        mt.compile(TEXT, isolate=True, timeout=0)
    with pytest.raises(TypeError, match=r"module must be an ir\.Module, got None"):
        mt.compile(None, isolate=True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="opt-level must be in 0 to 3"):
        mt.compile(TEXT, isolate=True, opt_level=9)


def test_the_context_may_have_threads_and_be_garbage() -> None:
    context = ir.Context()
    mt.load_dialect(context)
    context.enable_multithreading(True)
    cycle: list[object] = [context]
    cycle.append(cycle)
    with context:
        module = mt.parse(TEXT)
    del context, cycle
    assert "kernels" in mt.compile(module, isolate=True, timeout=60).ptx


def test_host_functions_that_llvm_cannot_compile_end_the_child() -> None:
    from mlir_tile.runtime.executable import Executable

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executable, "_generate_host_code", lambda self: os.abort())
        with pytest.raises(mt.CompilerCrash):
            mt.compile(TEXT, isolate=True)


def test_host_functions_that_cannot_be_linked_fail_when_called(
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = """
      func.func private @nowhere()
      func.func @main() attributes {llvm.emit_c_interface} {
        call @nowhere() : () -> ()
        return
      }
    """
    program = mt.compile(text, isolate=True)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(mt.Error):
        program.invoke("main", device="emulator")


def test_threads_compile_side_by_side() -> None:
    with warnings.catch_warnings(), ThreadPoolExecutor(3) as pool:
        warnings.simplefilter("error")
        found = list(pool.map(lambda _: mt.compile(TEXT, isolate=True, timeout=100).ptx, range(6)))
    assert all(ptx == found[0] for ptx in found)


def test_nothing_is_left_behind(legalize_with: Any) -> None:
    def once() -> None:
        mt.compile("module {}", isolate=True)
        with pytest.raises(mt.CompilerCrash):
            mt.compile(TEXT, isolate=True)

    legalize_with(os.abort)
    once()
    before = len(os.listdir("/proc/self/fd"))
    once()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_interrupt_ends_the_child(legalize_with: Any) -> None:
    def interrupt() -> None:
        os.kill(os.getppid(), signal.SIGINT)
        loop()

    legalize_with(interrupt)
    with pytest.raises(KeyboardInterrupt):
        mt.compile(TEXT, isolate=True)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_others_may_take_in_the_children() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert "kernels" in mt.compile(TEXT, isolate=True).ptx
        assert "kernels" in mt.compile(TEXT, isolate=True, timeout=60).ptx
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_handlers_of_the_caller_do_not_run_in_the_child(legalize_with: Any) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        legalize_with(lambda: os.kill(os.getpid(), signal.SIGTERM))
        with pytest.raises(mt.CompilerCrash, match=r"Terminated \(SIGTERM\)"):
            mt.compile(TEXT, isolate=True)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not heard


PRINTS = """
import os, sys
import mlir_tile as mt
from mlir_tile import legalize
copy = legalize.PATTERNS["tile.copy_async"]
def legalize_copy(op, rewriter):
    print("child")
    print("aside", file=sys.stderr)
    copy(op, rewriter)
legalize.PATTERNS["tile.copy_async"] = legalize_copy
print("before")
with mt.context():
    mt.compile(mt.parse_file(sys.argv[1]), isolate=True)
print("after")
"""


def test_what_passes_print_is_printed_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINTS, str(EXAMPLE)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "before\nchild\nafter\n")
    assert done.stderr == "aside\n"


HANGS = """
import os, sys, time
import mlir_tile as mt
from mlir_tile import legalize
def hang(op, rewriter):
    print(os.getpid(), flush=True)
    time.sleep(600)
legalize.PATTERNS["tile.copy_async"] = hang
with mt.context():
    mt.compile(mt.parse_file(sys.argv[1]), isolate=True)
"""


def test_the_child_ends_with_its_parent() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", HANGS, str(EXAMPLE)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent:
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
    assert ended(child)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def ended(pid: int) -> bool:
    """Wait until a process has ended: a minute at most."""
    until = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def test_an_op_that_a_pattern_erased_says_so() -> None:
    def erase_first(op: ir.OpView, rewriter: Any) -> None:
        rewriter.erase_op(op)
        str(op)

    with pytest.MonkeyPatch.context() as patch, mt.context():
        module = mt.parse(TEXT)
        patch.setitem(legalize.PATTERNS, "tile.copy_async", erase_first)
        with pytest.raises(RuntimeError, match="the operation has been invalidated"):
            mt.lower(module, "legalize")
