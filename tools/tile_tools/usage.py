# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools check of their options before they read anything: wrong usage, status 2."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence


def check_outputs(
    usage: argparse.ArgumentParser, source: str | None, outputs: Sequence[tuple[str, str | None]]
) -> None:
    """End with a usage error where an output would replace the source or another output.

    `outputs` are options and the files that they name, None where they are not given.
    """
    seen = [("the input", source)] if source is not None else []
    for option, file in outputs:
        if file is None:
            continue
        for other, taken in seen:
            if is_same_file(file, taken):
                usage.error(f"{option} {file} would replace {other}: name another file")
        seen.append((f"the file of {option}", file))


def is_same_file(one: str, other: str) -> bool:
    """Whether both name one file on disk; pipes and devices have room for several."""
    if "-" in (one, other):
        return False
    if os.path.exists(one) and os.path.exists(other):
        return os.path.isfile(one) and os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
