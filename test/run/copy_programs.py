# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that copy one tile between two CTAs of a cluster, for any pair of layouts.

The sender fills its whole source buffer from `a`, the receiver its whole destination from `b`;
after the copy the receiver writes its whole buffer back to `b`. So what the copy must leave alone
is compared too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Layout:
    """A strided layout in elements, perhaps swizzled, and how many elements its buffer has."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    room: int = 0
    swizzle: tuple[int, int, int] | None = None

    @property
    def elements(self) -> int:
        """Elements of the buffer: what the tile spans, or `room` if that is more."""
        steps = zip(self.shape, self.strides, strict=True)
        reached = sum((extent - 1) * max(stride, 0) for extent, stride in steps)
        return max(1, self.room, 0 if 0 in self.shape else self.offset + reached + 1)

    def places(self) -> npt.NDArray[np.int64]:
        """Return the place in the buffer of each element of the tile."""
        places = np.full(self.shape, self.offset)
        for dimension, stride in enumerate(self.strides):
            index = np.arange(self.shape[dimension]) * stride
            places += index.reshape([-1 if d == dimension else 1 for d in range(places.ndim)])
        if self.swizzle:
            bits, base, shift = self.swizzle
            places ^= ((places >> (base + shift)) & ((1 << bits) - 1)) << base
        return places

    def type(self, element: str) -> str:
        """Return the memref type of the tile."""
        shape = "x".join(map(str, self.shape))
        layout = f"strided<{list(self.strides)}, offset: {self.offset}>"
        if self.swizzle:
            modes = f"({', '.join(map(str, self.shape))}) : ({', '.join(map(str, self.strides))})"
            layout = f"#tile.layout<{modes}, swizzle = <{', '.join(map(str, self.swizzle))}>>"
        return f"memref<{shape}x{element}, {layout}, #gpu.address_space<workgroup>>"

    def seen(self, buffer: str, element: str) -> str:
        """Return the op that sees a flat buffer as the tile."""
        flat = f"memref<{self.elements}x{element}, #gpu.address_space<workgroup>>"
        if self.swizzle:
            return f"tile.view {buffer}[0] : {flat} to {self.type(element)}"
        return (
            f"memref.reinterpret_cast {buffer} to offset: [{self.offset}], "
            f"sizes: {list(self.shape)}, strides: {list(self.strides)} "
            f": {flat} to {self.type(element)}"
        )


def rows(*shape: int, **more: Any) -> Layout:
    """Return the row-major layout of `shape`, without gaps."""
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return Layout(shape, tuple(strides), **more)


@dataclass(frozen=True)
class Copy:
    """A copy, the cluster it runs in, and who executes it.

    `block` are the threads of a CTA; `more_bytes` are armed beyond what the copy brings.
    """

    element: str
    src: Layout
    dst: Layout
    cluster: tuple[int, int, int] = (2, 1, 1)
    sender: int = 0
    receiver: int = 1
    runtime_rank: bool = False
    issue: str = "thread"
    variant: str | None = None
    block: tuple[int, int, int] = (64, 1, 1)
    more_bytes: int = 0

    def program(self) -> str:
        """Return the module: kernel and host function `main(a, b)` over the flat buffers."""
        element = self.element
        a = f"memref<{self.src.elements}x{element}>"
        b = f"memref<{self.dst.elements}x{element}>"
        space = "#gpu.address_space<workgroup>"
        src_buffer = f"memref<{self.src.elements}x{element}, {space}>"
        dst_buffer = f"memref<{self.dst.elements}x{element}, {space}>"
        group = f"!nvgpu.mbarrier.group<memorySpace = {space}, num_barriers = 1>"
        bits = 64 if element == "index" else int(element.lstrip("ifb"))
        tile_bytes = int(np.prod(self.src.shape)) * bits // 8 + self.more_bytes
        x, y, z = self.cluster
        src_type, dst_type = self.src.type(element), self.dst.type(element)
        block_x, block_y, block_z = self.block
        threads = block_x * block_y * block_z
        executors = {"thread": 1, "warp": 32, "cta": threads}[self.issue]
        variant = f' {{variant = "{self.variant}"}}' if self.variant else ""
        rank = "%peer = arith.addi %self, %difference : i32" if self.runtime_rank else ""
        peer = "%peer" if self.runtime_rank else "%receiver"
        return f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @copy(%a: {a}, %b: {b}) workgroup(%src_buffer: {src_buffer}, %dst_buffer: {dst_buffer})
      kernel attributes {{known_block_size = array<i32: {block_x}, {block_y}, {block_z}>,
                          known_cluster_size = array<i32: {x}, {y}, {z}>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %threads = arith.constant {threads} : index
    %executors = arith.constant {executors} : index
    %dx = arith.constant {block_x} : index
    %dy = arith.constant {block_y} : index
    %src_elements = arith.constant {self.src.elements} : index
    %dst_elements = arith.constant {self.dst.elements} : index
    %bytes = arith.constant {tile_bytes} : index
    %ticks = arith.constant 10000000 : index
    %phase = arith.constant false
    %sender = arith.constant {self.sender} : i32
    %receiver = arith.constant {self.receiver} : i32
    %difference = arith.constant {self.receiver - self.sender} : i32
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %z = gpu.thread_id z
    %plane = arith.muli %z, %dy : index
    %line = arith.addi %plane, %y : index
    %before = arith.muli %line, %dx : index
    %thread = arith.addi %before, %x : index
    %self = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %is_first = arith.cmpi eq, %thread, %c0 : index
    %executes = arith.cmpi ult, %thread, %executors : index
    %is_sender = arith.cmpi eq, %self, %sender : i32
    %is_receiver = arith.cmpi eq, %self, %receiver : i32
    %src = {self.src.seen("%src_buffer", element)}
    %dst = {self.dst.seen("%dst_buffer", element)}
    %bars = nvgpu.mbarrier.create -> {group}
    scf.if %is_first {{
      nvgpu.mbarrier.init %bars[%c0], %c1 : {group}
      nvvm.fence.mbarrier.init
    }}
    scf.if %is_receiver {{
      scf.for %i = %thread to %dst_elements step %threads {{
        %value = memref.load %b[%i] : {b}
        memref.store %value, %dst_buffer[%i] : {dst_buffer}
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    }}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    scf.if %is_sender {{
      scf.for %i = %thread to %src_elements step %threads {{
        %value = memref.load %a[%i] : {a}
        memref.store %value, %src_buffer[%i] : {src_buffer}
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      gpu.barrier
      scf.if %executes {{
        {rank}
        tile.copy_async %src to %dst cta({peer}) mbarrier(%bars[%c0]) issue({self.issue}){variant}
            : {src_type} to {dst_type}, {group}
      }}
    }}
    scf.if %is_receiver {{
      scf.if %is_first {{
        nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : {group}
      }}
      nvgpu.mbarrier.try_wait.parity %bars[%c0], %phase, %ticks : {group}
      scf.for %i = %thread to %dst_elements step %threads {{
        %value = memref.load %dst_buffer[%i] : {dst_buffer}
        memref.store %value, %b[%i] : {b}
      }}
    }}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    gpu.return
  }}
}}
func.func @main(%a: {a}, %b: {b}) attributes {{llvm.emit_c_interface}} {{
  %x = arith.constant {x} : index
  %y = arith.constant {y} : index
  %z = arith.constant {z} : index
  %block_x = arith.constant {block_x} : index
  %block_y = arith.constant {block_y} : index
  %block_z = arith.constant {block_z} : index
  %t0 = gpu.wait async
  %device_a, %t1 = gpu.alloc async [%t0] () : {a}
  %device_b, %t2 = gpu.alloc async [%t1] () : {b}
  %t3 = gpu.memcpy async [%t2] %device_a, %a : {a}, {a}
  %t4 = gpu.memcpy async [%t3] %device_b, %b : {b}, {b}
  %t5 = gpu.launch_func async [%t4] @kernels::@copy clusters in (%x, %y, %z)
      blocks in (%x, %y, %z) threads in (%block_x, %block_y, %block_z)
      args(%device_a : {a}, %device_b : {b})
  %t6 = gpu.memcpy async [%t5] %b, %device_b : {b}, {b}
  %t7 = gpu.dealloc async [%t6] %device_a : {a}
  %t8 = gpu.dealloc async [%t7] %device_b : {b}
  gpu.wait [%t8]
  return
}}
}}
"""

    def expected(
        self, a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]
    ) -> npt.NDArray[np.generic]:
        """Return the destination buffer after the copy, by NumPy."""
        result = b.copy()
        result[self.dst.places()] = a[self.src.places()]
        return result
