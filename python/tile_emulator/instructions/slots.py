# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The register file as the decoder lays it out: one slot for each register, literal and temporary.

Literals and special registers have slots too, so that a step reads every operand the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_emulator._tile_emulator import Registers

if TYPE_CHECKING:
    from tile_emulator.machine.warp import Warp

UNSIGNED: dict[int, Any] = {
    1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64
}  # fmt: skip
SIGNED: dict[int, Any] = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
FLOAT: dict[int, Any] = {
    1: np.bool_, 8: np.uint8, 16: np.float16, 32: np.float32, 64: np.float64
}  # fmt: skip


class Views(dict[int, Any]):
    """Arrays over registers by their slots, made where they are asked for."""

    __slots__ = ("_data", "_types", "_widths")

    def __init__(self, data: Any, widths: list[int], types: dict[int, Any]) -> None:
        super().__init__()
        self._data, self._widths, self._types = data, widths, types

    def __missing__(self, slot: int) -> Any:
        view = self[slot] = self._data[slot].view(self._types[self._widths[slot]])[:32]
        return view


class Slots:
    """Allocates slots, and makes the arrays of a warp from them."""

    def __init__(self) -> None:
        self.widths: list[int] = []
        self.values: list[int] = []
        self.special: dict[int, tuple[str, int]] = {}
        self._constants: dict[tuple[int, int], int] = {}
        self._specials: dict[tuple[str, int, int], int] = {}
        self._template: Registers | None = None

    def new(self, width: int, value: int = 0) -> int:
        """Return a new slot of `width` bits."""
        self._template = None
        self.widths.append(width)
        self.values.append(value)
        return len(self.widths) - 1

    def constant(self, width: int, value: int) -> int:
        """Return the slot that holds `value`."""
        key = (width, value)
        slot = self._constants.get(key)
        if slot is None:
            slot = self._constants[key] = self.new(width, value)
        return slot

    def constant_register(self, name: str, width: int) -> int:
        """Return the slot of a hidden register, such as the carry bit."""
        key = (name, width, 0)
        slot = self._specials.get(key)
        if slot is None:
            slot = self._specials[key] = self.new(width)
        return slot

    def special_register(self, name: str, width: int, offset: int = 0) -> int:
        """Return the slot that the warp fills with a special register or an address."""
        key = (name, width, offset)
        slot = self._specials.get(key)
        if slot is None:
            slot = self._specials[key] = self.new(width)
            self.special[slot] = (name, offset)
        return slot

    def fill(self, warp: Warp) -> None:
        """Give `warp` its registers: unsigned, signed and float views of the same lanes."""
        if self._template is None:
            self._template = Registers(self.values, self.widths)
        warp.registers = self._template.copy()
        data = warp.registers.bytes()
        warp.u, warp.s, warp.f = (
            Views(data, self.widths, types) for types in (UNSIGNED, SIGNED, FLOAT)
        )
