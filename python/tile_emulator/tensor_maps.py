# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor maps: what the driver's `cuTensorMapEncodeTiled` takes, and the boxes that they describe.

The driver's encoding is secret; this one is the emulator's own.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator.validation import integer

MAP_BYTES = 128
MAP_ALIGN = 64
CHUNK = 16
_MAX_BOX = 256
_MAX_STEP = 8
_MAX_RANK = 5

# In the order of the driver's enumerations, so that its numbers are taken, too.
ELEMENTS = {
    "uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8, "float16": 2,
    "float32": 4, "float64": 8, "bfloat16": 2, "float32_ftz": 4, "tfloat32": 4, "tfloat32_ftz": 4,
}  # fmt: skip
_INTERLEAVES = ("none", "16B", "32B")
_SWIZZLES = ("none", "32B", "64B", "128B")
_PROMOTIONS = ("none", "64B", "128B", "256B")
_FILLS = ("none", "nan")

_MAGIC = b"tilemap1"
_LAYOUT = struct.Struct("<8s5BxxxQ5Q5Q5H5B")


def encode_tiled(
    data_type: str | int,
    rank: int,
    global_address: int,
    global_dim: Sequence[int],
    global_strides: Sequence[int],
    box_dim: Sequence[int],
    element_strides: Sequence[int] | None = None,
    interleave: str | int = "none",
    swizzle: str | int = "none",
    l2_promotion: str | int = "none",
    oob_fill: str | int = "none",
) -> bytes:
    """Return the 128 bytes of a tensor map, as the driver's `cuTensorMapEncodeTiled` makes them.

    The tensor at `global_address` has `rank` dimensions of `global_dim` elements, from the fastest
    on, and `global_strides`, in bytes, has those of all but the first. A box has `box_dim` elements
    in each dimension, of which it takes each `element_strides`-th (not in the first dimension). A
    kernel takes the bytes as a parameter of 128 bytes, or from global memory.

    `data_type` is one of uint8, uint16, uint32, int32, uint64, int64, float16, float32, float64,
    bfloat16, float32_ftz, tfloat32 and tfloat32_ftz; `swizzle` is none, 32B, 64B or 128B,
    `l2_promotion` none, 64B, 128B or 256B, and `oob_fill` none (zeros) or nan. The driver's
    numbers for them are taken, too. Raises TypeError, and ValueError for what the driver refuses,
    by the name of the argument, and for an `interleave` other than none.
    """
    element = _choice("data_type", data_type, tuple(ELEMENTS))
    width = ELEMENTS[element]
    rank = _between("rank", rank, 1, _MAX_RANK)
    address = integer("global_address", global_address, 0)
    if address % CHUNK:
        raise ValueError(f"global_address must be a multiple of {CHUNK}, got 0x{address:x}")
    dims = [_between(n, v, 1, 1 << 32) for n, v in _items("global_dim", global_dim, rank)]
    strides = []
    for name, value in _items("global_strides", global_strides, rank - 1):
        stride = _between(name, value, 0, (1 << 40) - 1)
        if stride % CHUNK:
            raise ValueError(f"{name} must be a multiple of {CHUNK} bytes, got {stride}")
        strides.append(stride)
    box = [_between(n, v, 1, _MAX_BOX) for n, v in _items("box_dim", box_dim, rank)]
    steps = [
        _between(n, v, 1, _MAX_STEP)
        for n, v in _items("element_strides", element_strides or [1] * rank, rank)
    ]
    if _choice("interleave", interleave, _INTERLEAVES) != "none":
        raise ValueError(f"interleave must be none in the emulator, got {interleave!r}")
    span = _SWIZZLES.index(_choice("swizzle", swizzle, _SWIZZLES))
    promotion = _PROMOTIONS.index(_choice("l2_promotion", l2_promotion, _PROMOTIONS))
    fill = _FILLS.index(_choice("oob_fill", oob_fill, _FILLS))
    inner = box[0] * width
    if inner % CHUNK:
        raise ValueError(
            f"box_dim[0] must have a multiple of {CHUNK} bytes, got {box[0]} elements of {width} "
            "bytes"
        )
    if span and inner > CHUNK << span:
        raise ValueError(
            f"box_dim[0] must have at most the {CHUNK << span} bytes of the swizzle, got {inner}"
        )
    if fill and "float" not in element:
        raise ValueError(f"oob_fill must be none for {element}, which has no NaN")

    def padded(values: list[int]) -> list[int]:
        return values + [0] * (_MAX_RANK - len(values))

    content = _LAYOUT.pack(
        _MAGIC, list(ELEMENTS).index(element), rank, span, promotion, fill, address,
        *padded(dims), *padded([width, *strides]), *padded(box), *padded(steps),
    )  # fmt: skip
    content = content.ljust(MAP_BYTES - 4, b"\0")
    return content + zlib.crc32(content).to_bytes(4, "little")


def _choice(name: str, given: str | int, names: tuple[str, ...]) -> str:
    if isinstance(given, str):
        if given in names:
            return given
    elif 0 <= integer(name, given) < len(names):
        return names[integer(name, given)]
    raise ValueError(f"{name} must be one of {', '.join(names)}, got {given!r}")


def _between(name: str, given: Any, low: int, high: int) -> int:
    value = integer(name, given)
    if not low <= value <= high:
        raise ValueError(f"{name} must be {low} to {high}, got {value}")
    return value


def _items(name: str, given: Any, count: int) -> list[tuple[str, Any]]:
    try:
        items = list(given)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of ints, got {given!r}") from None
    if len(items) != count:
        raise ValueError(f"{name} must have {count} items, got {len(items)}")
    return [(f"{name}[{i}]", item) for i, item in enumerate(items)]


@dataclass(frozen=True)
class TensorMap:
    """What the bytes of a map say; dimensions go from the fastest on, strides are in bytes."""

    element: str
    swizzle: int
    nan: bool
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return self.strides[0]

    @property
    def inner(self) -> int:
        """Bytes of a row of the box."""
        return self.box[0] * self.width

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Elements of the box in each dimension but the first, whose step is ignored."""
        pairs = zip(self.box[1:], self.steps[1:], strict=True)
        return tuple(-(-box // step) for box, step in pairs)

    @cached_property
    def rows(self) -> int:
        return int(np.prod(self.counts, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the box, those outside of the tensor among them."""
        return self.rows * self.inner

    @property
    def footprint(self) -> int:
        """Bytes of shared memory from the first to the last row, at the pitch of the swizzle."""
        return self.rows * (self.swizzle or self.inner)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The coordinates of the rows relative to the corner, of shape (rows, rank - 1)."""
        grid = np.indices(self.counts[::-1], dtype=np.int64).reshape(self.rank - 1, self.rows)
        steps = np.array(self.steps[1:], dtype=np.int64)
        return np.ascontiguousarray(grid[::-1].T) * steps

    @cached_property
    def filling(self) -> NDArray[np.uint8]:
        """What is outside of the tensor, 16 bytes of it: an H200's NaNs have equal halves."""
        halves = np.full(CHUNK // 2, 0x7FF7 if self.nan else 0, dtype=np.uint16)
        return halves.view(np.uint8)


@lru_cache(maxsize=256)
def decode(content: bytes) -> TensorMap | None:
    """Return the map in 128 bytes, or None where they are none."""
    if content[:8] != _MAGIC or zlib.crc32(content[:-4]) != int.from_bytes(content[-4:], "little"):
        return None
    _, element, rank, swizzle, _, fill, address, *rest = _LAYOUT.unpack_from(content)
    dims, strides, box, steps = (tuple(rest[i : i + rank]) for i in range(0, 4 * _MAX_RANK, 5))
    span = CHUNK << swizzle if swizzle else 0
    return TensorMap(list(ELEMENTS)[element], span, bool(fill), address, dims, strides, box, steps)


@lru_cache(maxsize=256)
def arrangement(
    rows: int, inner: int, swizzle: int, base: int
) -> tuple[NDArray[np.intp], tuple[slice, ...]]:
    """Say where the 16-byte chunks of a box go in shared memory from an address on.

    Returns the number of the chunk at each place, in the order of the places, and the ranges of
    these, relative to the address. Of it only the bits in `base`, its remainder by 1024, matter: a
    swizzle exchanges chunks of a row by address bits 7 to 9.
    """
    pitch = swizzle or inner
    starts = np.arange(rows, dtype=np.int64)[:, None] * pitch
    places = (base + starts + np.arange(0, inner, CHUNK)).ravel()
    places = (places ^ (places >> 3 & max(swizzle - CHUNK, 0))) - base
    order = np.argsort(places)
    places = places[order]
    ends = np.flatnonzero(np.diff(places) != CHUNK)
    first = places[np.concatenate([[0], ends + 1])].tolist()
    last = places[np.concatenate([ends, [len(places) - 1]])].tolist()
    return order, tuple(slice(a, b + CHUNK) for a, b in zip(first, last, strict=True))


@dataclass(frozen=True)
class Box:
    """The bytes of a box at a corner, row by row: where each is, from `address` on, or -1."""

    address: int
    size: int
    index: NDArray[np.int64]
    # The parts of rows that are inside of the tensor, as addresses.
    spans: tuple[tuple[int, int], ...]


def box_at(tensor: TensorMap, corner: Sequence[int]) -> Box:
    """Return where the bytes of the box at `corner` are; outside of the tensor there are none."""
    rows = tensor.offsets + np.array(corner[1:], dtype=np.int64)
    inside = ((rows >= 0) & (rows < np.array(tensor.dims[1:], dtype=np.int64))).all(axis=1)
    width = tensor.width
    low = max(0, -corner[0])
    high = min(tensor.box[0], tensor.dims[0] - corner[0])
    if high <= low or not inside.any():
        index = np.full((tensor.rows, tensor.inner), -1, dtype=np.int64)
        return Box(tensor.address, 0, index, ())
    starts = rows @ np.array(tensor.strides[1:], dtype=np.int64)
    starts += tensor.address + corner[0] * width
    starts = starts.reshape(-1)
    begins = np.unique(starts[inside] + low * width)
    part = (high - low) * width
    address = int(begins[0])
    columns = np.arange(tensor.inner, dtype=np.int64)
    index = (starts - address)[:, None] + columns
    index[~inside] = -1
    index[:, : low * width] = index[:, high * width :] = -1
    # Rows that follow each other are one span.
    breaks = np.flatnonzero(np.diff(begins) > part)
    first = begins[np.concatenate([[0], breaks + 1])].tolist()
    last = begins[np.concatenate([breaks, [len(begins) - 1]])].tolist()
    spans = tuple((a, b + part) for a, b in zip(first, last, strict=True))
    return Box(address, last[-1] + part - address, index, spans)


class Spread:
    """Bytes that are apart: byte `i` is `data[index[i]]`, or not there where that is negative.

    What is not there reads as `fill`, and takes no write.
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        index: NDArray[np.int64],
        fill: NDArray[np.uint8] | None = None,
        flush: bool = False,
    ) -> None:
        self.data = data
        self.index = index
        self.fill = fill
        self.flush = flush
        self.size = index.size

    def __getitem__(self, part: slice) -> NDArray[np.uint8]:
        index = self.index[part]
        found = self.data[index]
        if self.flush:
            words = found.view(np.uint32)
            words[(words & np.uint32(0x7F800000)) == 0] &= np.uint32(0x80000000)
        if self.fill is not None:
            found = np.where(index < 0, np.resize(self.fill, index.size), found)
        return found

    def __setitem__(self, part: slice, new: NDArray[np.uint8]) -> None:
        index = self.index[part]
        there = index >= 0
        self.data[index[there]] = new[there]
