# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types by their names in MLIR, and what NumPy, DLPack and C call them: the one table."""

from __future__ import annotations

from typing import NamedTuple


class Element(NamedTuple):
    """An element type that Python and C can pass.

    `numpy` is its dtype, which the package ml_dtypes defines where `is_extension`; `dlpack` is the
    code of its kind in dlpack.h, None for `index`; `c` is its type in C, or one of its bits.
    """

    numpy: str
    bytes: int
    dlpack: int | None
    c: str
    is_extension: bool = False

    @property
    def is_float(self) -> bool:
        """Whether it has fractions."""
        return self.dlpack not in (None, _INTEGER, _UNSIGNED, _BOOL)


_INTEGER, _UNSIGNED, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6

ELEMENTS = {
    "i1": Element("bool", 1, _BOOL, "bool"),
    **{f"i{n}": Element(f"int{n}", n // 8, _INTEGER, f"int{n}_t") for n in (8, 16, 32, 64)},
    **{f"ui{n}": Element(f"uint{n}", n // 8, _UNSIGNED, f"uint{n}_t") for n in (8, 16, 32, 64)},
    "index": Element("int64", 8, None, "int64_t"),
    "f16": Element("float16", 2, _FLOAT, "uint16_t"),
    "f32": Element("float32", 4, _FLOAT, "float"),
    "f64": Element("float64", 8, _FLOAT, "double"),
    "bf16": Element("bfloat16", 2, _BFLOAT, "uint16_t", True),
    "f8E3M4": Element("float8_e3m4", 1, 7, "uint8_t", True),
    "f8E4M3": Element("float8_e4m3", 1, 8, "uint8_t", True),
    "f8E4M3B11FNUZ": Element("float8_e4m3b11fnuz", 1, 9, "uint8_t", True),
    "f8E4M3FN": Element("float8_e4m3fn", 1, 10, "uint8_t", True),
    "f8E4M3FNUZ": Element("float8_e4m3fnuz", 1, 11, "uint8_t", True),
    "f8E5M2": Element("float8_e5m2", 1, 12, "uint8_t", True),
    "f8E5M2FNUZ": Element("float8_e5m2fnuz", 1, 13, "uint8_t", True),
    "f8E8M0FNU": Element("float8_e8m0fnu", 1, 14, "uint8_t", True),
}


def signless(element: str) -> str:
    """Return an integer type without its sign, and other types as they are."""
    return element[1:] if element.startswith(("si", "ui")) else element
