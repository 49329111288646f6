# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line `tile-emulate`.

Exit status: 0 on success, 1 with `error: ...` on stderr when the input, the launch or the kernel is
wrong, 2 for wrong usage, 130 when interrupted. Nothing goes to stdout but what the kernel prints,
and `--stats`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from tile_emulator.arguments import dimensions, parse_argument
from tile_emulator.device import DEFAULT_MAX_SECONDS, DEFAULT_MAX_STEPS, policies
from tile_emulator.emulate import emulate
from tile_emulator.errors import Error
from tile_emulator.ptx.parser import MOST_CHARACTERS


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
    try:
        return dimensions(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not one to three positive numbers") from None


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not positive")
    return value


def _schedule(text: str) -> str:
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


def read_text(name: str) -> str:
    """Return the text of a file, or as much of it as tells that it is too long."""
    try:
        if name == "-":
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with Path(name).open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"'{name}' cannot be read: {error}") from None


def run(options: argparse.Namespace) -> None:
    """Do what the options say; raises Error."""
    from tile_emulator import parse

    text = read_text(options.file)
    module = parse(text)
    entry = options.entry
    if entry is None:
        kernels = list(module.kernels)
        if len(kernels) != 1:
            raise Error(f"--entry must name one of the kernels: {', '.join(kernels) or 'none'}")
        entry = kernels[0]
    arguments = [parse_argument(text) for text in options.arg]
    for index, _ in options.save:
        _array(arguments, index, "--save")
    for left, right in options.expect:
        _array(arguments, left, "--expect")
        _array(arguments, right, "--expect")
    report = emulate(
        module,
        entry,
        arguments,
        grid=options.grid,
        block=options.block,
        cluster=options.cluster,
        smem=options.smem,
        schedule=options.schedule,
        checks=options.checks,
        max_steps=options.max_steps,
        max_seconds=options.max_seconds,
    )
    for index, file in options.save:
        try:
            np.save(file, arguments[index], allow_pickle=False)
        except OSError as error:
            raise Error(f"'{file}' cannot be written: {error}") from None
    for left, right in options.expect:
        compare(left, right, arguments[left], arguments[right])
    if options.stats:
        print(
            f"{report.kernel}: {report.steps} warp instructions, {report.clusters} clusters, "
            f"{report.copies} copies of {report.copied_bytes} bytes, "
            f"{report.interleavings} interleavings"
        )


def _array(arguments: Sequence[Any], index: int, option: str) -> None:
    if index >= len(arguments) or not isinstance(arguments[index], np.ndarray):
        raise Error(f"{option} names argument {index}, which is not an array")


def compare(left: int, right: int, a: Any, b: Any) -> None:
    """Raise Error unless two arrays are equal, element by element."""
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Error(
            f"argument {left} ({a.dtype}{list(a.shape)}) and argument {right} "
            f"({b.dtype}{list(b.shape)}) differ in type or shape"
        )
    bits = f"u{a.dtype.itemsize}"
    equal = (a == b) | (a.view(bits) == b.view(bits)) if a.ndim else np.asarray(a == b)
    if not equal.all():
        first = tuple(int(i) for i in np.argwhere(~equal)[0])
        raise Error(
            f"argument {left} differs from argument {right} in {int((~equal).sum())} of {a.size} "
            f"elements, first at {first}: {a[first]} and {b[first]}"
        )


def main(
    argv: Sequence[str] | None = None,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> int:
    """Run the command line, the work of it in what `around` makes; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        with around():
            run(options)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return 1
    return 0
