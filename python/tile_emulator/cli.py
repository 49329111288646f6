# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line `tile-emulate`.

Exit status: 0 on success, 1 with `error: ...` on stderr when the input, the launch or the kernel is
wrong, 2 for wrong usage, 130 when interrupted. Nothing goes to stdout but what the kernel prints,
and `--stats`. What it shares with `tile-run` means the same there.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version

from tile_emulator.errors import Error
from tile_emulator.limits import DEFAULT_MAX_SECONDS, DEFAULT_MAX_STEPS
from tile_emulator.usage import (
    ARGUMENT_FORMS,
    add_argument_options,
    check_indices,
    checks,
    file_name,
    positive,
    schedule,
    seconds,
)

EPILOG = f"""\
{ARGUMENT_FORMS}\
  hex:BYTES                    the bytes of a struct: hex:0011

An array is passed as a pointer, and written back.
Types are i1, i8 to i64, u8 to u64, index, f16, f32, f64 and bf16.
Exit status: 0 on success; 1 for a wrong input, a wrong launch, what the emulator finds in the
kernel, and arrays that --expect finds different; 2 for wrong usage."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tile-emulate",
        description="Run a kernel of a PTX file on the CPU, and say what is wrong with it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--version", action="version", version=f"%(prog)s {_version()}")
    add("file", metavar="FILE.ptx", type=file_name, help="PTX text; - reads standard input")
    add("--entry", metavar="NAME", help="the kernel; needed where the file has several")
    for name, text in (("grid", "CTAs"), ("block", "threads of a CTA")):
        add(
            f"--{name}",
            type=_dimensions,
            default=(1, 1, 1),
            metavar="X[xYxZ]",
            help=f"{text} (default 1)",
        )
    add(
        "--cluster",
        type=_dimensions,
        metavar="X[xYxZ]",
        help="CTAs of a cluster (default: what the kernel requires, else 1)",
    )
    add(
        "--smem",
        type=_natural,
        default=0,
        metavar="BYTES",
        help="dynamic shared memory (default 0)",
    )
    add_argument_options(parser)
    add(
        "--schedule",
        default="eager",
        metavar="S",
        type=schedule,
        help="the order in which warps and copies take turns: eager, late, random:SEED, or "
        "explore:N for N of them (default eager)",
    )
    add(
        "--checks",
        default="default",
        metavar="C",
        type=checks,
        help="what is reported: off, default, or strict for what PTX does not bless and GPUs let "
        "pass; with ,-KIND a kind is left out, as in default,-race (default default)",
    )
    add(
        "--keep-going",
        action="store_true",
        help="go on after a report where the kernel can, and end with 1",
    )
    add(
        "--max-steps",
        type=positive,
        default=DEFAULT_MAX_STEPS,
        metavar="N",
        help="end after so many instructions of warps (default %(default)s)",
    )
    add(
        "--max-seconds",
        type=seconds,
        default=DEFAULT_MAX_SECONDS,
        metavar="S",
        help="end after so many seconds (default %(default)g)",
    )
    add("--stats", action="store_true", help="print what was run")
    return parser


def _version() -> str:
    try:
        return version("mlir-tile")
    except PackageNotFoundError:  # the package also works where it was only copied to
        return "of no installed package"


def _dimensions(text: str) -> tuple[int, int, int]:
    """Read `2`, `2x1` or `2,1,1`."""
    try:
        values = [int(part) for part in re.split("[x,]", text)]
    except ValueError:
        values = []
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise argparse.ArgumentTypeError(f"must be one to three positive numbers, got '{text}'")
    values += [1] * (3 - len(values))
    return values[0], values[1], values[2]


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number of 0 or more, got '{text}'")
    return int(text)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; end with a usage error if one names an argument that is not there."""
    usage = _parser()
    options = usage.parse_args(argv)
    check_indices(usage, options)
    return options


def main(
    argv: Sequence[str] | None = None,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> int:
    """Run the command line, the work of it in what `around` makes; returns the exit status."""
    options = _parsed(argv)
    from tile_emulator.command import run  # and with it NumPy, which `--help` does without

    try:
        with around():
            reports = run(options)
        _flush()
    except Error as error:
        for text in (*getattr(error, "earlier", ()), error):
            print(f"error: {text}", file=sys.stderr)
        return 1
    except OSError as error:  # a print: all files are in the care of `run`
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            reason = (error.strerror or str(error)).lower()
            print(f"error: standard output: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return 1
    for text in reports:
        print(f"error: {text}", file=sys.stderr)
    return 1 if reports else 0


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    """Leave nothing that the interpreter would try to write at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
