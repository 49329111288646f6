# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global memory, and the windows of the generic address space.

Host memory keeps its own addresses; what the emulator allocates lies above the 47 bits that a
process uses, and the windows of shared, local and parameter memory above that.
"""

from __future__ import annotations

import bisect
import ctypes

import numpy as np
from numpy.typing import NDArray

from tile_emulator._tile_emulator import Memory
from tile_emulator.errors import Fault

HEAP = 0x7_0000_0000_0000
# What kernels may allocate: CUDA's default for cudaLimitMallocHeapSize.
HEAP_BYTES = 8 << 20
SHARED_WINDOW = 1 << 56
LOCAL_WINDOW = 2 << 56
PARAM_WINDOW = 3 << 56
FUNCTIONS = 4 << 56
# The window is above these bits.
WINDOW_BITS = 56
WINDOW_SHIFT = np.uint64(WINDOW_BITS)
WINDOW_MASK = np.uint64((1 << WINDOW_BITS) - 1)


class Segment:
    """Bytes that lie together; `data` is a uint8 array over them."""

    __slots__ = ("base", "data", "name", "size")

    def __init__(self, base: int, data: NDArray[np.uint8], name: str) -> None:
        self.base = base
        self.size = int(data.size)
        self.data = data
        self.name = name


Snapshot = tuple[list[tuple[Segment, NDArray[np.uint8]]], dict[int, int]]


class GlobalMemory:
    """Segments by address."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[Segment] = []
        self._next = HEAP
        self.core = Memory()
        # What kernels have of their own heap, by address.
        self.heap: dict[int, int] = {}

    def alloc(self, nbytes: int, name: str = "allocation") -> int:
        """Return the address of new zeroed bytes, aligned to 512 bytes."""
        data = np.zeros(nbytes, dtype=np.uint8)
        base = self._next
        self._next += -(-max(nbytes, 1) // 512) * 512 + 512
        self._insert(Segment(base, data, name))
        return base

    def malloc(self, nbytes: int) -> int:
        """Return the address of bytes of the kernels' own heap; 0 where it has no room."""
        if not 0 < nbytes <= HEAP_BYTES - sum(self.heap.values()):
            return 0
        address = self.alloc(nbytes, "memory of malloc")
        # What a kernel reads before it writes there is not zero by chance.
        self.bytes_at(address, nbytes)[:] = 0xCD
        self.heap[address] = nbytes
        return address

    def free(self, address: int) -> bool:
        """Release what `malloc` returned; returns whether it was that."""
        return address in self.heap and self.release(address)

    def map_host(self, address: int, nbytes: int) -> None:
        """Make host memory usable at its own address."""
        raw = (ctypes.c_uint8 * nbytes).from_address(address)
        self._insert(
            Segment(address, np.frombuffer(memoryview(raw), dtype=np.uint8), "host memory")
        )

    def _insert(self, segment: Segment) -> None:
        at = bisect.bisect_left(self._bases, segment.base)
        self._bases.insert(at, segment.base)
        self._segments.insert(at, segment)
        self.core.insert(segment.base, segment.data)

    def release(self, address: int) -> bool:
        """Forget the segment that starts at `address`; returns whether there was one."""
        at = bisect.bisect_left(self._bases, address)
        if at == len(self._bases) or self._bases[at] != address:
            return False
        del self._bases[at], self._segments[at]
        self.core.remove(address)
        self.heap.pop(address, None)
        return True

    def segment(self, address: int, nbytes: int) -> Segment | None:
        """Return the segment that holds all of the bytes, if one does."""
        at = bisect.bisect_right(self._bases, address) - 1
        if at < 0:
            return None
        segment = self._segments[at]
        return segment if address + nbytes <= segment.base + segment.size else None

    def bytes_at(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """Return the bytes themselves; raises Fault outside of every segment."""
        segment = self.segment(address, nbytes)
        if segment is None:
            raise self.outside(address, nbytes)
        start = address - segment.base
        return segment.data[start : start + nbytes]

    def outside(self, address: int, nbytes: int, lane: int | None = None) -> Fault:
        """Return the fault of an access to bytes that no segment holds."""
        at = bisect.bisect_right(self._bases, address) - 1
        near = ""
        if at >= 0 and address < self._bases[at] + self._segments[at].size + 4096:
            segment = self._segments[at]
            near = (
                f"; it lies {address - segment.base} bytes into {segment.name} of "
                f"{segment.size} bytes"
            )
        return Fault(
            "address",
            f"global access of {nbytes} bytes at 0x{address:x} is outside of every buffer{near}",
            "check the index against the size of the buffer",
            lane,
        )

    def snapshot(self) -> Snapshot:
        """Copy all bytes, for `restore`."""
        return [(segment, segment.data.copy()) for segment in self._segments], dict(self.heap)

    def restore(self, copies: Snapshot) -> None:
        """Put back what `snapshot` copied: segments of kernels that came since are gone."""
        segments, heap = copies
        kept, here = {segment.base for segment, _ in segments}, set(self._bases)
        for base in here - kept:
            self.release(base)
        for segment, data in segments:
            if segment.base not in here:
                self._insert(segment)
            segment.data[:] = data
        self.heap = dict(heap)
