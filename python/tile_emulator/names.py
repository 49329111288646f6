# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the author of a kernel calls pieces of its shared memory, for reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SharedName:
    """`name` for `nbytes` bytes from `offset` on of the shared variable `symbol` of the PTX.

    Where elements lie at one step of bytes for each dimension, `extents` and `steps` say so.
    """

    name: str
    symbol: str
    offset: int
    nbytes: int
    extents: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    def at(self, place: int) -> str:
        """Return the name of the byte `place` of the bytes: with its element, or its number."""
        index, rest = [0] * len(self.extents), place
        for i in sorted(range(len(self.steps)), key=lambda i: -self.steps[i]):
            step, extent = self.steps[i], self.extents[i]
            if step > 0:
                index[i] = min(rest // step, extent - 1)
                rest -= index[i] * step
        if self.extents and 0 <= rest < min((s for s in self.steps if s > 0), default=1):
            return f"{self.name}[{', '.join(map(str, index))}]"
        return f"{self.name}, byte {place}"
