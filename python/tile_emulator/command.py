# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tile-emulate` does once its command line is read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tile_emulator import parse
from tile_emulator.arguments import parse_argument
from tile_emulator.arrays import emulate
from tile_emulator.errors import Error
from tile_emulator.limits import MOST_CHARACTERS


def read_text(name: str) -> str:
    """Return the text of a file, or as much of it as tells that it is too long."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise Error("standard input is closed")
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with Path(name).open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"'{name}' cannot be read: {error}") from None


def run(options: argparse.Namespace) -> None:
    """Do what the options say; raises Error."""
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
    """Raise Error at the first element in which two arguments differ; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Error(
            f"argument {left} must equal argument {right}, got {a.dtype}{list(a.shape)}"
            f" and {b.dtype}{list(b.shape)}"
        )
    different = (a != b) & ~((a != a) & (b != b))
    if different.any():
        first = tuple(int(i) for i in np.argwhere(different)[0])
        raise Error(
            f"argument {left} must equal argument {right}, but {int(different.sum())} of {a.size}"
            f" elements differ; the first at {list(first)}: {a[first]} and {b[first]}"
        )
