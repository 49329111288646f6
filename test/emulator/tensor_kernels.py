# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boxes of tensors by their definition, element by element, and kernels that move one box.

What the boxes contain is written after PTX's and CUDA's text, and shares no code with the emulator.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

WIDTHS = {
    "uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8, "float16": 2,
    "float32": 4, "float64": 8, "bfloat16": 2,
}  # fmt: skip
SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
BUFFER = 9216
GUARD = 64


@dataclass(frozen=True)
class Case:
    """A map, and a box of it: where it is in the tensor, and its place in the buffer."""

    element: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: str
    fill: str
    corner: tuple[int, ...]
    place: int
    seed: int

    @property
    def width(self) -> int:
        return WIDTHS[self.element]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements that move; the step of the first dimension is ignored."""
        pairs = zip(self.box[1:], self.steps[1:], strict=True)
        return (self.box[0], *(-(-box // step) for box, step in pairs))

    @property
    def pitch(self) -> int:
        """From one row of the box to the next in shared memory."""
        return SWIZZLES[self.swizzle] or self.box[0] * self.width

    @property
    def box_bytes(self) -> int:
        return int(np.prod(self.counts)) * self.width

    @property
    def tensor_bytes(self) -> int:
        """From the first to the last byte of the tensor."""
        last = [extent - 1 for extent in self.dims]
        return sum(x * s for x, s in zip(last, (self.width, *self.strides), strict=True)) + (
            self.width
        )

    def elements(self) -> Any:
        """Give each element's offset in the tensor, None outside of it, and in the buffer."""
        strides = (self.width, *self.strides)
        steps = (1, *self.steps[1:])
        for number, reverse in enumerate(
            itertools.product(*(range(count) for count in reversed(self.counts)))
        ):
            at = [c + k * s for c, k, s in zip(self.corner, reverse[::-1], steps, strict=True)]
            inside = all(0 <= x < extent for x, extent in zip(at, self.dims, strict=True))
            row, column = divmod(number, self.counts[0])
            linear = self.place + row * self.pitch + column * self.width
            offset = sum(x * s for x, s in zip(at, strides, strict=True))
            yield offset if inside else None, self.swizzled(linear)

    def swizzled(self, offset: int) -> int:
        """Return where a byte of the buffer goes: CUDA's table, for lines of eight chunks."""
        line, inside = divmod(offset, 128)
        chunk, byte = divmod(inside, 16)
        lines = {"none": 1, "32B": 2, "64B": 4, "128B": 8}[self.swizzle]
        return line * 128 + (chunk ^ line % lines) * 16 + byte

    def loaded(self, tensor: bytes, buffer: bytes) -> bytearray:
        """Return the buffer after the box was loaded into it."""
        result = bytearray(buffer)
        for offset, there in self.elements():
            value = bytes(self.width)
            if offset is not None:
                value = tensor[offset : offset + self.width]
            elif self.fill == "nan":
                value = NAN[self.element]
            result[there : there + self.width] = value
        return result

    def stored(self, tensor: bytes, buffer: bytes) -> bytearray:
        """Return the tensor after the box was stored from the buffer."""
        result = bytearray(tensor)
        for offset, there in self.elements():
            if offset is not None:
                result[offset : offset + self.width] = buffer[there : there + self.width]
        return result


# As an H200 writes them.
NAN = {
    "float16": b"\xf7\x7f", "bfloat16": b"\xf7\x7f", "float32": b"\xf7\x7f" * 2,
    "float64": b"\xf7\x7f" * 4,
}  # fmt: skip


def draw(seed: int, for_stores: bool = False) -> Case:
    """Draw a case; `for_stores` leaves corners non-negative, where no text says what happens."""
    rng = np.random.default_rng(seed)
    element = str(rng.choice(list(WIDTHS)))
    width = WIDTHS[element]
    rank = int(rng.integers(1, 6))
    swizzle = str(rng.choice(list(SWIZZLES)))
    most = (SWIZZLES[swizzle] or 256) // 16
    full = rng.random() < 0.5 and swizzle != "none"
    chunks = most if full else int(rng.integers(1, most + 1))
    box = [min(chunks * 16 // width, 256 // (16 // width) * (16 // width))]
    room = (BUFFER - 1024) // (SWIZZLES[swizzle] or box[0] * width)
    steps = [int(rng.integers(1, 9))]
    for _ in range(rank - 1):
        step = int(rng.choice([1, 1, 1, 2, 3, 8]))
        count = int(rng.integers(1, max(2, min(room, 9))))
        room //= count
        box.append(min(256, count * step - int(rng.integers(0, step))))
        steps.append(step)
    dims = [int(rng.integers(1, 2 * box[0] + 2))]
    dims += [int(rng.integers(1, min(2 * b, 12) + 2)) for b in box[1:]]
    strides, row = [], dims[0] * width
    for extent in dims[1:]:
        row = -(-row // 16) * 16 + 16 * int(rng.integers(0, 2))
        strides.append(row)
        row *= extent
    low = [0 if for_stores or rng.random() < 0.5 else -b - 1 for b in box]
    corner = [int(rng.integers(a, extent + 2)) for a, extent in zip(low, dims, strict=True)]
    corner[0] -= corner[0] % (16 // width)
    nan = element in NAN and rng.random() < 0.4
    place = 128 * int(rng.integers(0, 8))
    return Case(
        element, tuple(dims), tuple(strides), tuple(box), tuple(steps), swizzle,
        "nan" if nan else "none", tuple(corner), place, seed,
    )  # fmt: skip


HEADER = """.version 8.6
.target sm_90a
.address_size 64
"""
MOVE = """
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out,
  .param .align 4 .b8 corner[20])
{{
  .reg .pred %first, %more, %ready; .reg .b32 %t, %i, %at, %c<5>, %x<4>; .reg .b64 %q, %p, %m;
  .shared .align 1024 .b8 buffer[{buffer}]; .shared .align 8 .b64 bar;
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0;
  mov.b64 %m, map; cvta.param.u64 %m, %m;
{corner}
  ld.param.u64 %q, [in];
  shl.b32 %i, %t, 4;
FILL: cvt.u64.u32 %p, %i; add.u64 %p, %p, %q; mov.u32 %at, buffer; add.u32 %at, %at, %i;
  ld.global.v4.u32 {{%x0, %x1, %x2, %x3}}, [%p]; st.shared.v4.u32 [%at], {{%x0, %x1, %x2, %x3}};
  add.u32 %i, %i, 512; setp.lt.u32 %more, %i, {buffer}; @%more bra FILL;
  @%first mbarrier.init.shared::cta.b64 [bar], 1;
  fence.proxy.async.shared::cta; bar.sync 0;
  @!%first bra MOVED;
{move}
MOVED:
{wait}
  ld.param.u64 %q, [out];
  shl.b32 %i, %t, 4;
DRAIN: cvt.u64.u32 %p, %i; add.u64 %p, %p, %q; mov.u32 %at, buffer; add.u32 %at, %at, %i;
  ld.shared.v4.u32 {{%x0, %x1, %x2, %x3}}, [%at]; st.global.v4.u32 [%p], {{%x0, %x1, %x2, %x3}};
  add.u32 %i, %i, 512; setp.lt.u32 %more, %i, {buffer}; @%more bra DRAIN;
  ret;
}}
"""
LOAD = """  prefetch.tensormap [%m];
  cp.async.bulk.prefetch.tensor.{rank}d.L2.global [%m, {{{corner}}}];
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {nbytes};
  cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [buffer+{place}], [%m, {{{corner}}}], [bar];"""
STORE = """  cp.{reduce}async.bulk.tensor.{rank}d.global.shared::cta{op}.tile.bulk_group
    [%m, {{{corner}}}], [buffer+{place}];
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
WAIT = "W: mbarrier.try_wait.parity.shared::cta.b64 %ready, [bar], 0; @!%ready bra W;"


@cache
def kernel(rank: int, place: int, nbytes: int, op: str | None) -> str:
    """Return a kernel that moves one box: a load, a store (`op` is ""), or a reduction."""
    names = ", ".join(f"%c{i}" for i in range(rank))
    load = LOAD.format(rank=rank, corner=names, nbytes=nbytes, place=place)
    reduce, suffix = ("reduce.", f".{op}") if op else ("", "")
    store = STORE.format(rank=rank, corner=names, place=place, reduce=reduce, op=suffix)
    return HEADER + MOVE.format(
        buffer=BUFFER,
        corner="".join(f"  ld.param.b32 %c{i}, [corner+{4 * i}];\n" for i in range(rank)),
        move=load if op is None else store,
        wait=WAIT if op is None else "",
    )


def contents(case: Case) -> tuple[bytes, bytes]:
    """Draw what is in the tensor's memory, between guards, and in the buffer."""
    rng = np.random.default_rng((case.seed, 1))
    return rng.bytes(case.tensor_bytes + 2 * GUARD), rng.bytes(BUFFER)


def move(
    device: Any,
    case: Case,
    program: Any,
    encode: Any,
    tensor: bytes,
    buffer: bytes,
) -> tuple[bytes, bytes]:
    """Run a kernel of `kernel` on a device; returns the tensor's memory and the buffer after it."""
    memory, first, last = (device.alloc(n) for n in (len(tensor), BUFFER, BUFFER))
    device.write(memory, tensor)
    device.write(first, buffer)
    content = encode(
        case.element, case.rank, memory + GUARD, case.dims, case.strides, case.box, case.steps,
        "none", case.swizzle, "none", case.fill,
    )  # fmt: skip
    corner = np.array(case.corner + (0,) * (5 - case.rank), dtype=np.int32).tobytes()
    args = [content, first.to_bytes(8, "little"), last.to_bytes(8, "little"), corner]
    device.launch(program, "k", grid=1, block=32, args=args)
    return bytes(device.read(memory, len(tensor))), bytes(device.read(last, BUFFER))


def expected(case: Case, op: str | None, tensor: bytes, buffer: bytes) -> tuple[bytes, bytes]:
    """Return what `move` must."""
    inside = tensor[GUARD:-GUARD]
    if op is None:
        return tensor, bytes(case.loaded(inside, buffer))
    return tensor[:GUARD] + bytes(case.stored(inside, buffer)) + tensor[-GUARD:], buffer
