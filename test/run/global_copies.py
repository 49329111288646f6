# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawn copies between a region of a matrix in global memory and a tile in shared memory.

What a copy must do is said by NumPy's slices; nothing here knows how it is cut.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

WG = "#gpu.address_space<workgroup>"
BYTES = {"i8": 1, "f16": 2, "i32": 4, "f32": 4, "f64": 8}
DTYPES = {
    "i8": np.int8, "f16": np.float16, "i32": np.int32, "f32": np.float32, "f64": np.float64
}  # fmt: skip
THREADS = 32
FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"


@dataclass(frozen=True)
class Case:
    """A copy of `tile`, at `start` of an array of `shape`, whose rows are padded to `pitches`.

    `pitches` are the elements from one index to the next, without that of the last dimension, which
    is 1; `known` says which of them the type has. `shared` is the layout of the other side. A store
    may be a `reduce`.
    """

    element: str
    shape: tuple[int, ...]
    pitches: tuple[int, ...]
    known: tuple[bool, ...]
    start: tuple[int, ...]
    tile: tuple[int, ...]
    shared: str
    stores: bool
    issue: str
    reduce: str = ""

    @property
    def granule(self) -> int:
        """Elements of 16 bytes."""
        return 16 // BYTES[self.element]

    def array(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the memory of the array, in elements, and the array as a view of it."""
        strides = (*self.pitches, 1)
        span = 1 + sum((n - 1) * s for n, s in zip(self.shape, strides, strict=True))
        flat = rng.integers(0, 100, span).astype(DTYPES[self.element])
        nbytes = [s * flat.itemsize for s in strides]
        return flat, np.lib.stride_tricks.as_strided(flat, self.shape, nbytes)

    @property
    def region(self) -> tuple[slice, ...]:
        """What of the array is copied."""
        return tuple(slice(s, s + n) for s, n in zip(self.start, self.tile, strict=True))

    def kernel(self, name: str) -> str:
        """Return a kernel of the array, the tile as a plain array, and the region's start."""
        element, rank = self.element, len(self.tile)
        whole = "x".join("?" * rank)
        strides = [str(p) if k else "?" for p, k in zip(self.pitches, self.known, strict=True)]
        layout = f"strided<[{', '.join([*strides, '1'])}]"
        array = f"memref<{whole}x{element}, {layout}>>"
        sizes = "x".join(map(str, self.tile))
        part = f"memref<{sizes}x{element}, {layout}, offset: ?>>"
        plain = f"memref<{sizes}x{element}>"
        shared = f"memref<{sizes}x{element}{self.shared}, {WG}>"
        group = f"!nvgpu.mbarrier.group<memorySpace = {WG}, num_barriers = 1>"
        multiples = ", ".join([str(self.granule)] * (rank - 1) + ["1"])
        promise = f"{{llvm.align = 16 : i64, tile.multiple_of = array<i64: {multiples}>}}"
        starts = [f"%s{d}" for d in range(rank)]
        takes = ", ".join(f"{s}: index" for s in starts)
        last = f"%column = tile.assume_multiple {starts[-1]}, {self.granule} : index"
        at = ", ".join([*starts[:-1], "%column"])
        ones = ", ".join(["1"] * rank)
        extents = ", ".join(map(str, self.tile))
        move = (
            f"tile.copy_async %tile to %part {self.reduce} issue({self.issue}) : {shared} to {part}"
        )
        if not self.stores:
            move = (
                f"tile.copy_async %part to %tile mbarrier(%bars[%c0]) issue({self.issue})"
                f" : {part} to {shared}, {group}"
            )
        if self.issue == "thread":
            move = f"scf.if %is_first {{\n{move}\n}}"
        loops = "".join(
            f"%n{d} = arith.constant {n} : index\nscf.for %i{d} = %c0 to %n{d} step %c1 {{\n"
            for d, n in enumerate(self.tile)
        )
        index = ", ".join(f"%i{d}" for d in range(rank))
        source, target = (("plain", plain), ("tile", shared)) if self.stores else (
            ("tile", shared), ("plain", plain)
        )  # fmt: skip
        each = f"""{loops}
      %value = memref.load %{source[0]}[{index}] : {source[1]}
      memref.store %value, %{target[0]}[{index}] : {target[1]}
    {"}" * rank}"""
        each = f"scf.if %is_first {{\n{each}\n}}"
        before = f"{each}\n{FENCE}\ngpu.barrier"
        after = "nvvm.cp.async.bulk.commit.group\nnvvm.cp.async.bulk.wait_group 0"
        if not self.stores:
            before = (
                f"scf.if %is_first {{\ntile.expect %bars[%c0] for %tile : {group}, {shared}\n}}"
            )
            after = f"tile.wait %bars[%c0] parity(%phase) : {group}\n{each}"
        return f"""
  gpu.func @{name}(%array: {array} {promise}, %plain: {plain}, {takes}) workgroup(%tile: {shared})
      kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %phase = arith.constant false
    %thread = gpu.thread_id x
    %is_first = arith.cmpi eq, %thread, %c0 : index
    {last}
    %part = memref.subview %array[{at}] [{extents}] [{ones}] : {array} to {part}
    %bars = nvgpu.mbarrier.create -> {group}
    scf.if %is_first {{
      nvgpu.mbarrier.init %bars[%c0], %c1 : {group}
      nvvm.fence.mbarrier.init
    }}
    gpu.barrier
    {before}
    {move}
    {after}
    gpu.return
  }}"""


def module_of(cases: list[Case]) -> str:
    """Return a module with a kernel for each case: k0, k1, ..."""
    kernels = "\n".join(case.kernel(f"k{n}") for n, case in enumerate(cases))
    return f"module attributes {{gpu.container_module}} {{\ngpu.module @kernels {{{kernels}\n}}\n}}"


def drawn(seed: int) -> Case:
    """Draw a case that the analysis has to take."""
    rng = random.Random(seed)
    element = rng.choice(list(BYTES))
    granule = 16 // BYTES[element]
    rank = rng.choice([1, 2, 2, 2, 3])
    tile = [rng.choice([1, 2, 3, 5, 8]) for _ in range(rank - 1)]
    tile.append(granule * rng.choice([1, 2, 3, 8]))
    shared = ""
    if rank == 2 and rng.random() < 0.3:
        # A swizzle over rows of 128 bytes, in elements.
        row = 128 // BYTES[element]
        tile = [8, row]
        base = granule.bit_length() - 1
        shared = f", #tile.layout<(8, {row}) : ({row}, 1), swizzle = <3, {base}, 3>>"
    elif rank > 1 and rng.random() < 0.4:
        pitches, pitch = [1], tile[-1] + granule * rng.choice([0, 1, 2])
        for extent in reversed(tile[:-1]):
            pitches.append(pitch)
            pitch *= extent
        shared = f", strided<[{', '.join(map(str, reversed(pitches)))}]>"
    start = [rng.randrange(4) for _ in tile[:-1]] + [granule * rng.randrange(4)]
    shape = [s + n + rng.randrange(3) for s, n in zip(start, tile, strict=True)]
    global_pitches: list[int] = []
    pitch = -(-shape[-1] // granule) * granule + granule * rng.randrange(3)
    for extent in reversed(shape[:-1]):
        global_pitches.insert(0, pitch)
        pitch = pitch * extent + granule * rng.randrange(2)
    known = tuple(rng.random() < 0.3 for _ in global_pitches)
    stores = rng.random() < 0.5
    adds = stores and element != "i8" and rng.random() < 0.4
    reduce = "reduce(add)" if adds else ""
    return Case(
        element, tuple(shape), tuple(global_pitches), known, tuple(start), tuple(tile), shared,
        stores, rng.choice(["thread", "warp", "cta"]), reduce,
    )  # fmt: skip


def expected(case: Case, array: np.ndarray, plain: np.ndarray) -> Any:
    """Return what the region, or the plain array, has to be afterwards."""
    if not case.stores:
        return array[case.region].copy()
    return plain + array[case.region] if case.reduce else plain.copy()
