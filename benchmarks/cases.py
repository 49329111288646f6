# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tiles that are measured: their layouts, and what the hand-written kernels call them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SPACE = "#gpu.address_space<workgroup>"
DTYPES = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32)}
TILE = 16384
CHUNKS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Layout:
    """Extents and strides in elements, perhaps swizzled, from the buffer's start."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    swizzle: tuple[int, int, int] | None = None

    def places(self) -> npt.NDArray[np.int64]:
        """Return the place of each element of the tile."""
        places = np.zeros(self.shape, np.int64)
        for index, stride in zip(np.indices(self.shape), self.strides, strict=True):
            places += index * stride
        if self.swizzle:
            bits, base, shift = self.swizzle
            places ^= ((places >> (base + shift)) & ((1 << bits) - 1)) << base
        return places

    def type(self, element: str) -> str:
        """Return the memref type of the tile."""
        extents, strides = (", ".join(map(str, x)) for x in (self.shape, self.strides))
        layout = f"strided<[{strides}]>"
        if self.swizzle:
            swizzle = ", ".join(map(str, self.swizzle))
            layout = f"#tile.layout<({extents}) : ({strides}), swizzle = <{swizzle}>>"
        return f"memref<{'x'.join(map(str, self.shape))}x{element}, {layout}, {SPACE}>"

    def seen(self, buffer: str, elements: int, element: str) -> str:
        """Return the op that sees a flat buffer as the tile."""
        flat = f"memref<{elements}x{element}, {SPACE}>"
        if self.swizzle:
            return f"tile.view {buffer}[0] : {flat} to {self.type(element)}"
        return (
            f"memref.reinterpret_cast {buffer} to offset: [0], sizes: {list(self.shape)}, "
            f"strides: {list(self.strides)} : {flat} to {self.type(element)}"
        )


@dataclass(frozen=True)
class Case:
    """A tile, its two layouts in buffers of so many elements, and its hand-written counterpart.

    `cluster` CTAs send in a ring, on all SMs; 0 stands for one pair, of which one sends.
    """

    name: str
    element: str
    src: Layout
    dst: Layout
    elements: tuple[int, int]
    kind: str
    chunk_bytes: int
    pitch_bytes: tuple[int, int]
    cluster: int = 0

    @property
    def tile_bytes(self) -> int:
        """Bytes of the tile."""
        return int(np.prod(self.src.shape)) * DTYPES[self.element].itemsize


def chunks(
    name: str, chunk_bytes: int, count: int, src_pitch: int, dst_pitch: int, cluster: int = 0
) -> Case:
    """Return a tile of `count` chunks that begin so many bytes apart on each side."""
    src, dst = (
        Layout((count, chunk_bytes // 2), (pitch // 2, 1)) for pitch in (src_pitch, dst_pitch)
    )
    elements = (count * src_pitch // 2, count * dst_pitch // 2)
    pitches = (src_pitch, dst_pitch)
    return Case(name, "f16", src, dst, elements, "chunks", chunk_bytes, pitches, cluster)


def fixed_cases() -> Iterator[Case]:
    """Yield the tiles of 16 KiB that every run measures between one pair of CTAs."""
    yield chunks("contiguous", TILE, 1, TILE, TILE)
    for chunk in CHUNKS:
        yield chunks(f"chunks_{chunk}", chunk, TILE // chunk, 2 * chunk, 2 * chunk)
    rows = Layout((128, 64), (64, 1))
    swizzled = Layout((128, 64), (64, 1), (3, 3, 3))
    flat, whole = (8192, 8192), (TILE, TILE)
    yield Case("from_swizzled", "f16", swizzled, rows, flat, "from_swizzled", TILE, whole)
    yield Case("to_swizzled", "f16", rows, swizzled, flat, "to_swizzled", TILE, whole)
    square, turned = Layout((64, 64), (64, 1)), Layout((64, 64), (1, 64))
    yield Case("row_to_column_f32", "f32", square, turned, (4096, 4096), "columns", TILE, whole)


def ring_cases() -> Iterator[Case]:
    """Yield contiguous tiles that all CTAs of a cluster send to the next one."""
    for cluster in (2, 4, 8, 16):
        yield chunks(f"ring_{cluster}", TILE, 1, TILE, TILE, cluster)


def drawn_cases(seed: int, count: int = 5) -> Iterator[Case]:
    """Yield tiles of 4 to 32 KiB whose chunks and pitches are drawn."""
    draw = random.Random(seed)
    for number in range(count):
        chunk = 16 << draw.randint(0, 6)
        rows = draw.randint(max(1, 4096 // chunk), 32768 // chunk)
        pitches = [chunk + 16 * draw.randint(0, min(8, chunk // 16)) for _ in range(2)]
        yield chunks(f"seed_{seed}_{number}", chunk, rows, *pitches)
