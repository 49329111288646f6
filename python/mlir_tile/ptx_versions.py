# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which PTX versions the releases of CUDA take: their assembler, and their driver."""

from __future__ import annotations

# The newest PTX version that each CUDA release takes, from the release notes in the PTX ISA manual.
# A later release takes all that LLVM can write.
_NEWEST_PTX = {
    (11, 8): 78,
    (12, 0): 80,
    (12, 1): 81,
    (12, 2): 82,
    (12, 3): 83,
    (12, 4): 84,
    (12, 5): 85,
    (12, 6): 85,
    (12, 7): 86,
    (12, 8): 87,
    (12, 9): 88,
    (13, 0): 90,
}


def newest_ptx(release: tuple[int, int]) -> int | None:
    """Return the newest PTX version of a CUDA release, None where it is newer than LLVM's."""
    if release > max(_NEWEST_PTX):
        return None
    return max((ptx for known, ptx in _NEWEST_PTX.items() if known <= release), default=0)


def dotted(version: int) -> str:
    """Return 81 as `8.1`."""
    return f"{version // 10}.{version % 10}"
