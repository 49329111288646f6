# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What installed packages add to this one when it is imported."""

import contextlib
import sys
import warnings
from pathlib import Path

ENTRY_POINTS = "mlir_tile.variants"
"""The group of entry points that are loaded when `mlir_tile` is imported."""


def load_entry_points() -> None:
    """Import the modules that installed packages name for the group `mlir_tile.variants`.

    One that cannot be imported is a `RuntimeWarning`: its variants are then unknown by name.
    """
    if not _is_named():
        return
    from importlib import metadata

    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            warnings.warn(
                f"cannot load the variants of {entry.value}, entry point {entry.name!r}: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )


def _is_named() -> bool:
    """Whether any package names the group: reading metadata takes longer than most imports."""
    for folder in sys.path:
        # What cannot be read, such as a folder of that name, names nothing.
        with contextlib.suppress(OSError):
            for file in Path(folder).glob("*-info/entry_points.txt"):
                with contextlib.suppress(OSError):
                    if ENTRY_POINTS.encode() in file.read_bytes():
                        return True
    return False
