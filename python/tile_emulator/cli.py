# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line `tile-emulate`.

Exit status: 0 on success, 1 with `error: ...` on stderr when the input, the launch or the kernel is
wrong, 2 for wrong usage, 130 when interrupted. Nothing goes to stdout but what the kernel prints,
and `--stats`.
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tile-emulate",
        description="Run a kernel of a PTX file on the CPU, and say what is wrong with it.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    parser.add_argument("file", metavar="FILE.ptx", help="PTX text; - reads stdin")
    parser.add_argument("--entry", help="name of the kernel; needed when the file has several")
    for name, text in (("grid", "CTAs"), ("block", "threads of a CTA")):
        parser.add_argument(
            f"--{name}", type=_dimensions, default=(1, 1, 1), help=f"{text}: X[xYxZ]"
        )
    parser.add_argument("--cluster", type=_dimensions, help="CTAs of a cluster: X[xYxZ]")
    parser.add_argument(
        "--smem", type=int, default=0, metavar="BYTES", help="dynamic shared memory"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="ARG",
        help="a .npy file, zeros:128x64xf16, iota:..., random[:SEED]:..., i32:5, hex:0011",
    )
    parser.add_argument("--save", action="append", default=[], metavar="I=FILE.npy", type=_save)
    parser.add_argument("--expect", action="append", default=[], metavar="I=J", type=_expect)
    parser.add_argument(
        "--schedule",
        default="eager",
        type=_schedule,
        help="eager, late, random:SEED or explore:N (default: eager)",
    )
    parser.add_argument("--checks", choices=("default", "strict"), default="default")
    parser.add_argument("--max-steps", type=_positive, default=DEFAULT_MAX_STEPS, metavar="N")
    parser.add_argument("--max-seconds", type=float, default=DEFAULT_MAX_SECONDS, metavar="S")
    parser.add_argument("--stats", action="store_true", help="print what was run")
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
        raise argparse.ArgumentTypeError(f"'{text}' is not one to three positive numbers")
    values += [1] * (3 - len(values))
    return values[0], values[1], values[2]


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not positive")
    return value


def _schedule(text: str) -> str:
    from tile_emulator.device import policies

    try:
        policies(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _save(text: str) -> tuple[int, str]:
    index, sign, file = text.partition("=")
    if not sign or not file or not index.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not INDEX=FILE.npy")
    return int(index), file


def _expect(text: str) -> tuple[int, int]:
    left, _, right = text.partition("=")
    if not (left.isdecimal() and right.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not INDEX=INDEX")
    return int(left), int(right)


def main(
    argv: Sequence[str] | None = None,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> int:
    """Run the command line, the work of it in what `around` makes; returns the exit status."""
    options = _parser().parse_args(argv)
    from tile_emulator.command import run  # and with it NumPy, which `--help` does without

    try:
        with around():
            run(options)
        _flush()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a print: all files are in the care of `run`
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            print(
                f"error: standard output: {(error.strerror or str(error)).lower()}", file=sys.stderr
            )
        return 1
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return 1
    return 0


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    """Leave nothing that the interpreter would try to write at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
