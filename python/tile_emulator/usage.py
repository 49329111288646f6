# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that `tile-emulate` shares with the compiler's tools; wrong values are wrong usage.

Imports nothing that takes long.
"""

from __future__ import annotations

import argparse
import math

from tile_emulator.checks import parse_checks

ARGUMENT_FORMS = """\
argument forms:
  FILE.npy                     an array, as the next three
  zeros:SHAPExDTYPE            zeros:128x64xf16
  iota:SHAPExDTYPE             0, 1, 2, ... as far as the type counts exactly, then again
  random[:SEED]:SHAPExDTYPE    floats of [-1, 1), integers of the whole range; seed 0 if not given
  NUMBER                       a number in the size of its parameter
  TYPE:NUMBER                  a number of a type: i32:5, f32:0.5
"""


def add_argument_options(parser: argparse.ArgumentParser) -> None:
    """Add what gives a program its arguments, and what is done with them afterwards."""
    add = parser.add_argument
    add("--arg", action="append", default=[], metavar="A", help="next argument, see below")
    add(
        "--save",
        action="append",
        default=[],
        metavar="I=FILE",
        type=indexed_file,
        help="write argument I to FILE as .npy afterwards",
    )
    add(
        "--expect",
        action="append",
        default=[],
        metavar="I=J",
        type=index_pair,
        help="fail unless argument I equals argument J afterwards, element by element; NaN equals "
        "NaN",
    )


def file_name(text: str) -> str:
    """Take the name of a file, or `-`."""
    if not text:
        raise argparse.ArgumentTypeError("must be the name of a file, got ''")
    return text


def positive(text: str) -> int:
    """Take a number of 1 or more."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a number of 1 or more, got '{text}'")
    return int(text)


def seconds(text: str) -> float:
    """Take a time."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got '{text}'")
    return value


def schedule(text: str) -> str:
    """Take a schedule that the emulator knows."""
    from tile_emulator.device import policies

    try:
        policies(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def checks(text: str) -> str:
    """Take checks that the emulator knows."""
    try:
        parse_checks(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def indexed_file(text: str) -> tuple[int, str]:
    """Take `I=FILE`."""
    index, equals, file = text.partition("=")
    if not equals or not index.isdecimal() or not file:
        raise argparse.ArgumentTypeError(f"must be I=FILE, got '{text}'")
    return int(index), file


def index_pair(text: str) -> tuple[int, int]:
    """Take `I=J`."""
    left, equals, right = text.partition("=")
    if not equals or not left.isdecimal() or not right.isdecimal():
        raise argparse.ArgumentTypeError(f"must be I=J, got '{text}'")
    return int(left), int(right)


def check_indices(usage: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with a usage error if `--save` or `--expect` names an argument that is not there."""
    named = [index for index, _ in options.save]
    named += [index for pair in options.expect for index in pair]
    for index in named:
        if index >= len(options.arg):
            usage.error(f"argument {index} is not there: {len(options.arg)} are given")
