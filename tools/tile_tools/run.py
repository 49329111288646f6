# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-run: compile a program and call one of its host functions on arrays."""

from __future__ import annotations

import argparse
import io
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from tile_emulator.usage import (
    ARGUMENT_FORMS,
    add_argument_options,
    check_indices,
    checks,
    file_name,
    schedule,
    seconds,
)

from .errors import report
from .guard import guarded, running, watch
from .progress import shown
from .source import read
from .usage import add_target_options, check_outputs, target_of, tool_parser

if TYPE_CHECKING:
    from mlir_tile.runtime.executable import Executable

DESCRIPTION = "Compile a program and call a host function with llvm.emit_c_interface."
EPILOG = f"""\
{ARGUMENT_FORMS}
Exit status: 0 on success; 1 for a wrong input, what the device or the emulator finds wrong, and
arrays that --expect finds different; 2 for wrong usage.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = tool_parser("tile-run", DESCRIPTION, EPILOG)
    made.add_argument(
        "file",
        type=file_name,
        help="MLIR text or bytecode, - for standard input; or a program that was saved",
    )
    made.add_argument("--entry", default="main", help="host function to call (default: main)")
    add_argument_options(made)
    made.add_argument(
        "--device", default="auto", metavar="D", type=device_name,
        help="auto (a GPU of sm_90 or newer, otherwise the emulator), cuda, cuda:N or emulator "
        "(default: auto)",
    )  # fmt: skip
    made.add_argument(
        "--schedule", metavar="S", type=schedule,
        help="the emulator's: eager, late, random:SEED or explore:N (default: eager)",
    )  # fmt: skip
    made.add_argument(
        "--checks", metavar="C", type=checks,
        help="what the emulator reports: off, default or strict, and ,-KIND for each kind to leave "
        "out, as in default,-race (default: default)",
    )  # fmt: skip
    made.add_argument(
        "--keep-going",
        action="store_true",
        help="let the emulator go on after a report where the kernel can, and end with 1",
    )
    made.add_argument(
        "--timeout", type=seconds, metavar="S",
        help="seconds that one wait for a GPU may take (default: no limit), or the emulator may "
        "work on one launch (default: 120)",
    )  # fmt: skip
    add_target_options(made)
    return made


def device_name(text: str) -> str:
    """Take the name of a device, whether or not it is there."""
    if not re.fullmatch(r"auto|emulator|cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"must be auto, cuda, cuda:N or emulator, got '{text}'")
    return text


def parsed(argv: list[str] | None) -> argparse.Namespace:
    """Return the options; end with a usage error if one names an argument that is not there."""
    usage = parser()
    options = usage.parse_args(argv)
    check_indices(usage, options)
    if options.device.startswith("cuda") and (
        options.schedule or options.checks or options.keep_going
    ):
        usage.error(
            "--schedule, --checks and --keep-going are the emulator's, got --device "
            f"{options.device}"
        )
    check_outputs(usage, options.file, [("--save", path) for _, path in options.save])
    return options


def run(options: argparse.Namespace) -> int:
    """Compile, call, save and compare; return 1 after reports, and raise what goes wrong."""
    from mlir_tile.errors import EmulatorWarning
    from mlir_tile.runtime.dtypes import element_dtypes
    from tile_emulator.arguments import TYPES, compare, parse_argument

    types = TYPES | element_dtypes()
    arguments = [parse_argument(text, types) for text in options.arg]
    reports, as_usual = 0, warnings.showwarning

    def show(message: Warning | str, *where: Any, **line: Any) -> None:
        nonlocal reports
        if isinstance(message, EmulatorWarning):
            reports += 1
            print(f"error: {message}", file=sys.stderr)
        else:
            as_usual(message, *where, **line)

    with shown("tile-run: compiling and running"):
        executable = load_or_compile(options)
        running()
        with warnings.catch_warnings():
            warnings.simplefilter("always", EmulatorWarning)
            warnings.showwarning = show
            result = executable.invoke(
                options.entry,
                *arguments,
                device=options.device,
                timeout=options.timeout,
                schedule=options.schedule,
                checks=options.checks,
                keep_going=options.keep_going,
            )
    if result is not None:
        print(result)
    for index, path in options.save:
        save(arguments[index], path)
    for left, right in options.expect:
        compare(left, right, arguments[left], arguments[right])
    return 1 if reports else 0


def load_or_compile(options: argparse.Namespace) -> Executable:
    """Return the program; `ValueError` for options of the compiler where it was saved compiled."""
    import mlir_tile as mt

    given = target_of(options)
    source = read(options.file)
    saved = source.program()
    if saved is None:
        with mt.context() as context:
            watch(context)
            return mt.compile(source.module(), **given)
    if given:
        flags = ", ".join("--" + name.replace("_", "-") for name in given)
        raise ValueError(f"{source.name} is compiled already; drop {flags}, or compile it again")
    return saved


def save(value: Any, file: str) -> None:
    """Write `value` as .npy to the file of exactly that name, which may be a pipe."""
    import numpy as np

    from mlir_tile.files import replace_file
    from tile_emulator.arguments import as_array

    content = io.BytesIO()
    np.save(content, as_array(value))
    replace_file(file, content.getvalue())


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    return report(lambda: run(parsed(argv)))


def command() -> int:
    """Run on `sys.argv` as a tool; return the exit status."""
    return guarded(main)


if __name__ == "__main__":
    sys.exit(command())
