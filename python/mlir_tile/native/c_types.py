# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR types as MLIR's C interface passes them, in C's spelling."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlir import ir

from mlir_tile.elements import ELEMENTS, signless

# What a register holds in the same way for LLVM and C. An f16 does not.
_SCALARS = ("i1", "i8", "i16", "i32", "i64", "index", "f32", "f64")


@dataclass(frozen=True)
class Passed:
    """A type of an argument or a result.

    `type` is that of a parameter, with a space or `*` at its end; `checks` are conditions on a
    memref called `{}`; `structs` are the declarations that it needs, by name.
    """

    mlir: str
    type: str
    is_memref: bool = False
    checks: tuple[str, ...] = ()
    note: str = ""
    structs: dict[str, str] = field(default_factory=dict)

    @property
    def compiled(self) -> str:
        """The parameter of the compiled function: memrefs are passed by address."""
        return self.pointer if self.is_memref else self.type

    @property
    def pointer(self) -> str:
        """The type of a pointer to it."""
        return f"{self.type}*"

    @property
    def returned(self) -> str:
        """What the compiled function returns; of an `i1` only the lowest bit counts."""
        return "uint8_t" if self.mlir == "i1" else self.type.strip()

    def from_returned(self, call: str) -> str:
        """Return the value of a call of the compiled function."""
        return f"({call} & 1) != 0" if self.mlir == "i1" else call

    def condition(self, name: str) -> str:
        """Return what must hold for the argument `name`, or nothing."""
        return " && ".join(check.format(name) for check in self.checks)


def passed_as(type: ir.Type) -> Passed:
    """Return how `type` is passed; `ValueError`, with the rest of a sentence, if it cannot be."""
    text = str(type)
    if isinstance(type, ir.UnrankedMemRefType):
        element_of(type.element_type)
        return Passed(text, "tile_memref_unranked ", True, structs={"unranked": _UNRANKED})
    if isinstance(type, ir.MemRefType):
        return _memref(type)
    if text not in _SCALARS:
        raise ValueError(f"must be a memref or one of {', '.join(_SCALARS)}, got {text}")
    return Passed(text, f"{element_of(type)} ")


def element_of(type: ir.Type) -> str:
    """Return the C type of the elements of a memref."""
    text = str(type)
    name = text if text in ELEMENTS else signless(text)
    if name not in ELEMENTS:
        raise ValueError(f"must have elements that C can address, got {text}")
    return ELEMENTS[name].c


def _memref(type: ir.MemRefType) -> Passed:
    text = str(type)
    element = element_of(type.element_type)
    try:
        strides, offset = type.get_strides_and_offset()
    except (RuntimeError, ValueError):
        raise ValueError(f"must have strides, got {text}") from None
    dynamic_size = ir.ShapedType.get_dynamic_size()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    is_identity = ir.AffineMap.get_identity(type.rank) == type.affine_map
    checks = []
    if offset != dynamic:
        checks.append(f"{{0}}.offset == {offset}")
    running = "1"
    row_major = []
    for dimension in reversed(range(type.rank)):
        row_major.append(running)
        running = f"{{0}}.sizes[{dimension}] * {running}".removesuffix(" * 1")
    for dimension, wanted in enumerate(reversed(row_major)):
        if type.shape[dimension] != dynamic_size:
            checks.append(f"{{0}}.sizes[{dimension}] == {type.shape[dimension]}")
        stride = wanted if is_identity else strides[dimension]
        if stride != dynamic:
            # The stride of a single element means nothing.
            checks.append(
                f"({{0}}.sizes[{dimension}] < 2 || {{0}}.strides[{dimension}] == {stride})"
            )
    name = str(type.element_type)
    is_bits = name in ELEMENTS and ELEMENTS[name].is_float and name not in _SCALARS
    note = f", elements in {element}, each the bits of one" if is_bits else ""
    name = f"{name}_{type.rank}d"
    return Passed(
        text,
        f"tile_memref_{name} ",
        True,
        tuple(checks),
        note,
        {name: _struct(name, element, type.rank)},
    )


def _struct(name: str, element: str, rank: int) -> str:
    """Return the descriptor of memrefs of one rank, and what makes one of a row-major array."""
    guard = f"TILE_MEMREF_{name.upper()}"
    arrays = f"  int64_t sizes[{rank}];\n  int64_t strides[{rank}]; /* in elements */\n" * (
        rank > 0
    )
    parameters = "".join(f", int64_t size{i}" for i in range(rank))
    lines = []
    for dimension in reversed(range(rank)):
        after = f"memref.strides[{dimension + 1}] * size{dimension + 1}"
        lines.append(f"  memref.sizes[{dimension}] = size{dimension};\n")
        lines.append(
            f"  memref.strides[{dimension}] = {'1' if dimension == rank - 1 else after};\n"
        )
    return (
        f"#ifndef {guard}\n#define {guard}\n"
        f"/** A memref of rank {rank}: element i is at aligned[offset + i * strides]. */\n"
        f"typedef struct tile_memref_{name} {{\n"
        f"  {element} *allocated; /* what free would take; calls do not use it */\n"
        f"  {element} *aligned;\n"
        f"  int64_t offset; /* in elements */\n"
        f"{arrays}}} tile_memref_{name};\n\n"
        f"/** The descriptor of the row-major array at `data`. */\n"
        f"static inline tile_memref_{name} tile_memref_{name}_of({element} *data{parameters}) {{\n"
        f"  tile_memref_{name} memref;\n"
        f"  memref.allocated = memref.aligned = data;\n"
        f"  memref.offset = 0;\n"
        f"{''.join(lines)}"
        f"  return memref;\n}}\n#endif\n"
    )


_UNRANKED = """\
#ifndef TILE_MEMREF_UNRANKED
#define TILE_MEMREF_UNRANKED
/** A memref of any rank: that, and the address of its descriptor. */
typedef struct tile_memref_unranked {
  int64_t rank;
  void *descriptor;
} tile_memref_unranked;
#endif
"""
