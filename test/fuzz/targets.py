# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is fuzzed: each way by which text and files of others come in.

A target is a function from bytes to an exit status, as the tool itself would end, and a strategy
for inputs. A new one is those two and a line in `TARGETS`.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import inputs
from hypothesis import strategies as st


@dataclass(frozen=True)
class Target:
    """`run` is called in the worker; `place` is what each error has to name.

    `examples` is the number of inputs in a run that has no time for more.
    """

    run: Callable[[bytes], int]
    strategy: st.SearchStrategy[bytes]
    place: str
    examples: int


def compiled(stage: str, text: bytes) -> int:
    """Run `tile-compile - --to STAGE`."""
    from tile_tools import compile as tool

    sys.argv = ["tile-compile", "-", "--to", stage, "-o", "/dev/null"]
    sys.stdin = io.TextIOWrapper(io.BytesIO(text))
    return tool.main()


def run_layout(data: bytes) -> int:
    """Compile a copy whose two tiles have the layout, and one of a run-time slice of them."""
    return compiled("legalize", inputs.program_of_layout(data))


def run_plan(data: bytes) -> int:
    """Legalize a copy that brings its plan along."""
    from mlir.passmanager import PassManager

    import mlir_tile as mt
    from mlir_tile.diagnostics import compile_error
    from tile_tools.errors import report

    def legalize() -> None:
        from mlir import ir

        with mt.context():
            module = mt.parse(inputs.program_of_plan(data))
            try:
                PassManager.parse("builtin.module(tile-legalize-to-nvvm)").run(module.operation)
            except ir.MLIRError as error:
                raise compile_error("legalization failed", error) from None

    return report(legalize)


def run_program(data: bytes) -> int:
    """Compile a whole module as far as our own passes go."""
    return compiled("legalize", data)


def run_ptx(data: bytes) -> int:
    """Run each kernel of a PTX text on the emulator."""
    from tile_emulator import cli

    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        file.write(data)
        file.flush()
        names = re.findall(r"\.entry\s+([\w$]+)", data.decode(errors="replace"))
        status = 0
        for name in names[:3] or [""]:
            status = cli.main(
                [file.name, *(["--entry", name] if name else [])]
                + ["--block", inputs.block_size(data), "--grid", "8"]
                + ["--max-steps", "5000", "--max-seconds", "5"]
                + ["--arg", "zeros:4096xi32"] * inputs.parameter_count(data, name)
            )
        return status


def run_argument(data: bytes) -> int:
    """Read an argument as tile-run and as tile-emulate do."""
    from mlir_tile.runtime.dtypes import element_dtypes
    from tile_emulator.arguments import TYPES, parse_argument
    from tile_tools.errors import report

    text = data.decode(errors="surrogateescape")
    ours = TYPES | element_dtypes()
    return max(
        report(lambda: void(parse_argument(text))), report(lambda: void(parse_argument(text, ours)))
    )


def void(_: object) -> None:
    """Drop a result."""


def run_npy(data: bytes) -> int:
    """Read the bytes as the .npy file of an argument."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        file.write(data)
        file.flush()
        return run_argument(file.name.encode())


def run_notation(data: bytes) -> int:
    """Run `tile-layout` with one argument a line."""
    from tile_tools import layout as tool

    sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
    return tool.main(data.decode(errors="surrogateescape").split("\n"))


def run_saved(data: bytes) -> int:
    """Load the bytes as a saved program."""
    import mlir_tile as mt
    from tile_tools.errors import report

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged.tile")
        path.write_bytes(data)
        return report(lambda: void(mt.load(path)))


CRASHED = 3
"""The status of a compilation that raised `CompilerCrash`."""

ISOLATED_SECONDS = 60.0
"""On the clock: as many as 20 of the processor on a busy machine."""


def run_compiled(data: bytes, **options: Any) -> int:
    """Compile as a program that was read does."""
    import mlir_tile as mt
    from tile_tools.errors import report

    def compile_and_drop() -> int:
        try:
            mt.compile(data, **options)
        except mt.CompilerCrash as crash:
            text = "no end" if crash.timed_out else " ".join(crash.text.split())
            print(f"crash: {crash.pass_name}: {text}", file=sys.stderr)
            return CRASHED
        return 0

    warnings.simplefilter("ignore", mt.CompileWarning)
    return report(compile_and_drop)


def run_isolated(data: bytes) -> int:
    """Compile as a program that strangers sent."""
    return run_compiled(data, isolate=True, timeout=ISOLATED_SECONDS)


AT_LINE = r"\bline \d+"
IN_NOTATION = r"in layout '[\s\S]*\n +\^|^error: (-:|--|coordinate |'tile.copy_async' op)"
IN_TEXT = r'^(\S+:\d+:\d+|".*"): error: '

TARGETS = {
    "layout": Target(run_layout, inputs.layouts(), IN_TEXT, 60),
    "plan": Target(run_plan, inputs.plans(), IN_TEXT, 50),
    "program": Target(run_program, inputs.programs(), IN_TEXT, 40),
    "ptx": Target(run_ptx, inputs.ptx(), f"{AT_LINE}|of kernel|argument|parameter|'|--", 40),
    # What fits into memory once may not fit twice.
    "argument": Target(run_argument, inputs.arguments(), r"'|^error: out of memory$", 200),
    "npy": Target(run_npy, inputs.npy_files(), r"\.npy'", 100),
    "notation": Target(run_notation, inputs.notations(), IN_NOTATION, 100),
    "saved": Target(run_saved, inputs.saved_programs(), r"^error: \S+\.tile ", 60),
}
RUNS = {
    **{name: target.run for name, target in TARGETS.items()},
    "compiled": run_compiled,
    "isolated": run_isolated,
}
"""All that a worker runs; the last two have inputs of their own, in `mutants`."""
