# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of the source tree, without what is built or ignored."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
IGNORED = [
    line.strip("/")
    for line in (PROJECT / ".gitignore").read_text().splitlines()
    if line and not line.startswith("#")
]


def is_ignored(path: Path) -> bool:
    """Whether .gitignore, or git itself, leaves out `path`, relative to the project."""
    return path.name == ".git" or any(
        fnmatch.fnmatch(str(path) if "/" in pattern else path.name, pattern) for pattern in IGNORED
    )


def source_files() -> Iterator[Path]:
    """Yield the files, relative to the project, in order."""
    for folder, folders, names in os.walk(PROJECT):
        here = Path(folder).relative_to(PROJECT)
        folders[:] = sorted(name for name in folders if not is_ignored(here / name))
        for name in sorted(names):
            if not is_ignored(here / name):
                yield here / name
