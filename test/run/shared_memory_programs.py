# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that fill each region of shared memory with a number of its own and copy it out.

Two regions that overlap, or one that is too short, show as wrong bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WORKGROUP = "#gpu.address_space<workgroup>"
BARRIER = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
THREADS = 256


@dataclass(frozen=True)
class Buffer:
    """A workgroup buffer of `rows` rows of `columns` bytes, `pitch` bytes apart."""

    columns: int
    rows: int = 1
    pitch: int = 0
    alignment: int = 16

    @property
    def elements(self) -> int:
        return self.rows * self.columns

    @property
    def type(self) -> str:
        layout = f", strided<[{self.pitch}, 1]>" if self.pitch else ""
        return f"memref<{self.rows}x{self.columns}xi8{layout}, {WORKGROUP}>"


@dataclass(frozen=True)
class Kernel:
    """A kernel with a barrier, static buffers, and `dynamic_bytes` of dynamic memory if not 0."""

    name: str
    buffers: Sequence[Buffer]
    dynamic_bytes: int = 0

    @property
    def regions(self) -> list[Buffer]:
        dynamic = [Buffer(self.dynamic_bytes)] if self.dynamic_bytes else []
        return [*self.buffers, *dynamic]

    @property
    def elements(self) -> int:
        return sum(region.elements for region in self.regions)

    def expected(self, blocks: int) -> np.ndarray:
        """Return what the kernel leaves: each region of each CTA full of its own number."""
        return np.array(
            [
                number
                for block in range(blocks)
                for number, region in enumerate(self.regions, 1 + 16 * block)
                for _ in range(region.elements)
            ],
            np.int8,
        )

    def text(self, blocks: int) -> str:
        attributions = ", ".join(
            f"%buffer{i}: {buffer.type} {{llvm.align = {buffer.alignment} : i64}}"
            for i, buffer in enumerate(self.buffers)
        )
        lines = [
            f"gpu.func @{self.name}(%out: memref<{blocks * self.elements}xi8>)",
            f"    workgroup({attributions}) kernel {{" if attributions else "    kernel {",
            *(
                f"%c{n} = arith.constant {n} : index"
                for n in sorted({0, 1, 16, 10_000_000, self.elements})
            ),
            "%false = arith.constant false",
            "%thread = gpu.thread_id x",
            "%threads = gpu.block_dim x",
            "%block = gpu.block_id x",
            "%first = arith.cmpi eq, %thread, %c0 : index",
            f"%bars = nvgpu.mbarrier.create -> {BARRIER}",
            "scf.if %first {",
            f"  nvgpu.mbarrier.init %bars[%c0], %c1 : {BARRIER}",
            "}",
            "gpu.barrier",
        ]
        if self.dynamic_bytes:
            region = len(self.buffers)
            lines += [
                f"%dynamic = gpu.dynamic_shared_memory : memref<?xi8, {WORKGROUP}>",
                f"%buffer{region} = memref.view %dynamic[%c0][] : memref<?xi8, {WORKGROUP}>"
                f" to {self.regions[-1].type}",
            ]
        start = 0
        copies = []
        for i, region in enumerate(self.regions):
            place = [
                f"%n{i} = arith.constant {region.elements} : index",
                f"%columns{i} = arith.constant {region.columns} : index",
                f"scf.for %i = %thread to %n{i} step %threads {{",
                f"  %row = arith.divui %i, %columns{i} : index",
                f"  %column = arith.remui %i, %columns{i} : index",
            ]
            lines += [
                f"%number{i} = arith.constant {i + 1} : index",
                f"%shift{i} = arith.muli %block, %c16 : index",
                f"%sum{i} = arith.addi %number{i}, %shift{i} : index",
                f"%value{i} = arith.index_cast %sum{i} : index to i8",
                *place,
                f"  memref.store %value{i}, %buffer{i}[%row, %column] : {region.type}",
                "}",
            ]
            copies += [
                *(line.replace(f"%n{i}", f"%m{i}").replace("%columns", "%width") for line in place),
                f"  %value = memref.load %buffer{i}[%row, %column] : {region.type}",
                f"  %start = arith.constant {start} : index",
                "  %a = arith.addi %i, %start : index",
                f"  %b = arith.muli %block, %c{self.elements} : index",
                "  %to = arith.addi %a, %b : index",
                f"  memref.store %value, %out[%to] : memref<{blocks * self.elements}xi8>",
                "}",
            ]
            start += region.elements
        lines += [
            "gpu.barrier",
            # The barrier lies beside the buffers: it must still be one.
            "scf.if %first {",
            f"  %token = nvgpu.mbarrier.arrive %bars[%c0] : {BARRIER} -> !nvgpu.mbarrier.token",
            f"  nvgpu.mbarrier.try_wait.parity %bars[%c0], %false, %c10000000 : {BARRIER}",
            "}",
            *copies,
            "gpu.return",
            "}",
        ]
        return "\n".join(lines)


def program(*kernels: Kernel, blocks: int = 1, cluster: int = 1) -> str:
    """Return a module whose `main` launches each kernel once, on an output argument for each."""
    arguments = ", ".join(
        f"%out{i}: memref<{blocks * kernel.elements}xi8>" for i, kernel in enumerate(kernels)
    )
    clusters = "clusters in (%cluster, %c1, %c1) " if cluster > 1 else ""
    host = []
    for i, kernel in enumerate(kernels):
        type = f"memref<{blocks * kernel.elements}xi8>"
        dynamic = f"dynamic_shared_memory_size %dynamic{i} " if kernel.dynamic_bytes else ""
        host += [
            f"%dynamic{i} = arith.constant {kernel.dynamic_bytes} : i32",
            f"%s{i} = gpu.wait async",
            f"%d{i}, %a{i} = gpu.alloc async [%s{i}] () : {type}",
            f"%l{i} = gpu.launch_func async [%a{i}] @kernels::@{kernel.name} {clusters}"
            "blocks in (%blocks, %c1, %c1) threads in (%threads, %c1, %c1) "
            f"{dynamic}args(%d{i} : {type})",
            f"%m{i} = gpu.memcpy async [%l{i}] %out{i}, %d{i} : {type}, {type}",
            f"%f{i} = gpu.dealloc async [%m{i}] %d{i} : {type}",
            f"gpu.wait [%f{i}]",
        ]
    device = "\n".join(kernel.text(blocks) for kernel in kernels)
    return f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
{device}
}}
func.func @main({arguments}) attributes {{llvm.emit_c_interface}} {{
%c1 = arith.constant 1 : index
%cluster = arith.constant {cluster} : index
%blocks = arith.constant {blocks} : index
%threads = arith.constant {THREADS} : index
{chr(10).join(host)}
return
}}
}}
"""
