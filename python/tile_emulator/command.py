# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tile-emulate` does once its command line is read."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tile_emulator import parse
from tile_emulator.arguments import as_array, compare, parse_argument
from tile_emulator.arrays import emulate
from tile_emulator.errors import Error
from tile_emulator.limits import MOST_CHARACTERS


def read_text(name: str) -> str:
    """Return the text of a file, or as much of it as tells that it is too long."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise Error("standard input is closed")
            text = sys.stdin.read(MOST_CHARACTERS + 1)
        else:
            with Path(name).open(encoding="utf-8") as file:
                text = file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Error(f"'{name}' cannot be read: {reason}") from None
    except UnicodeDecodeError as error:
        raise Error(f"'{name}' cannot be read: {error}") from None
    if not text.strip():
        raise Error(f"'{name}' is empty, where PTX must begin with .version")
    return text


def run(options: argparse.Namespace) -> list[str]:
    """Do what the options say; returns what was reported on the way, and raises Error."""
    text = read_text(options.file)
    module = parse(text)
    entry = options.entry
    if entry is None:
        kernels = list(module.kernels)
        if len(kernels) != 1:
            raise Error(f"--entry must name one of the kernels: {', '.join(kernels) or 'none'}")
        entry = kernels[0]
    arguments = [parse_argument(text) for text in options.arg]
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
        keep_going=options.keep_going,
    )
    for index, file in options.save:
        save(arguments[index], file)
    for left, right in options.expect:
        compare(left, right, arguments[left], arguments[right])
    if options.stats:
        print(
            f"{report.kernel}: {report.steps} warp instructions, {report.clusters} clusters, "
            f"{report.copies} copies of {report.copied_bytes} bytes, "
            f"{report.interleavings} interleavings"
        )
    return [str(error) for error in report.reports]


def save(value: Any, file: str) -> None:
    """Write an argument as .npy to the file of exactly that name, which may be a pipe."""
    content = io.BytesIO()
    np.save(content, as_array(value), allow_pickle=False)
    try:
        Path(file).write_bytes(content.getbuffer())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Error(f"'{file}' cannot be written: {reason}") from None
