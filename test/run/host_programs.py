# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host programs over the GPU dialect, lowered by upstream's own pipeline to what invoke takes."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import gpu
from mlir.passmanager import PassManager

from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import signatures_of

PIPELINE = (
    "builtin.module(gpu-lower-to-nvvm-pipeline{cubin-chip=sm_90 cubin-features=+ptx81 "
    "cubin-format=isa opt-level=3})"
)

KERNEL = """
  gpu.module @kernels {
    gpu.func @fill(%a: memref<?xf32>, %x: f32) kernel {
      %b = gpu.block_id x
      %n = gpu.block_dim x
      %t = gpu.thread_id x
      %o = arith.muli %b, %n : index
      %i = arith.addi %o, %t : index
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
"""

# Waits for a phase that nobody completes.
HANGING_KERNEL = """
  gpu.module @kernels {
    gpu.func @hang(%a: memref<?xf32>, %x: f32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %ticks = arith.constant 10000000 : index
      %false = arith.constant false
      %bars = nvgpu.mbarrier.create
        -> <memorySpace = #gpu.address_space<workgroup>>
      nvgpu.mbarrier.init %bars[%c0], %c1
        : <memorySpace = #gpu.address_space<workgroup>>
      nvgpu.mbarrier.try_wait.parity %bars[%c0], %false, %ticks
        : <memorySpace = #gpu.address_space<workgroup>>
      memref.store %x, %a[%c0] : memref<?xf32>
      gpu.return
    }
  }
"""

# Loops for ever without waiting for anything, as long as `x` is not 0.
SPINNING_KERNEL = """
  gpu.module @kernels {
    gpu.func @spin(%a: memref<?xf32>, %x: f32) kernel {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      cf.br ^loop
    ^loop:
      memref.store %x, %a[%c0] : memref<?xf32>
      %y = memref.load %a[%c0] : memref<?xf32>
      %again = arith.cmpf une, %y, %zero : f32
      cf.cond_br %again, ^loop, ^end
    ^end:
      gpu.return
    }
  }
"""

# Stores 2^42 bytes behind the buffer.
STRAY_KERNEL = """
  gpu.module @kernels {
    gpu.func @stray(%a: memref<?xf32>, %x: f32) kernel {
      %far = arith.constant 1099511627776 : index
      memref.store %x, %a[%far] : memref<?xf32>
      gpu.return
    }
  }
"""

# Each thread adds its CTA's rank in the cluster to `x`.
RANK_KERNEL = """
  gpu.module @kernels {
    gpu.func @rank(%a: memref<?xf32>, %x: f32) kernel {
      %b = gpu.block_id x
      %n = gpu.block_dim x
      %t = gpu.thread_id x
      %o = arith.muli %b, %n : index
      %i = arith.addi %o, %t : index
      %r = gpu.cluster_block_id x
      %r32 = arith.index_cast %r : index to i32
      %rf = arith.sitofp %r32 : i32 to f32
      %y = arith.addf %x, %rf : f32
      memref.store %y, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
"""


def shared_kernel(shared_bytes: int) -> str:
    """Return a kernel that passes `x` through the last four bytes of its dynamic shared memory."""
    return f"""
  gpu.module @kernels {{
    llvm.mlir.global external @dynamic() {{addr_space = 3 : i32, alignment = 16 : i64}}
      : !llvm.array<0 x i8>
    gpu.func @last(%a: memref<?xf32>, %x: f32) kernel {{
      %c0 = arith.constant 0 : index
      %base = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
      %p = llvm.getelementptr %base[{shared_bytes - 4}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      llvm.store volatile %x, %p : f32, !llvm.ptr<3>
      %y = llvm.load volatile %p : !llvm.ptr<3> -> f32
      memref.store %y, %a[%c0] : memref<?xf32>
      gpu.return
    }}
  }}
"""


CONSTANTS = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
"""

# Fills a device buffer of 64 floats by a kernel on 2 CTAs in one cluster, and copies it back.
FILL = f"""
module attributes {{gpu.container_module}} {{
  {KERNEL}
  func.func @main(%h: memref<?xf32>, %x: f32) attributes {{llvm.emit_c_interface}} {{
    {CONSTANTS}
    %n = memref.dim %h, %c0 : memref<?xf32>
    %t0 = gpu.wait async
    %d, %t1 = gpu.alloc async [%t0] (%n) : memref<?xf32>
    %t2 = gpu.memcpy async [%t1] %d, %h : memref<?xf32>, memref<?xf32>
    %t3 = gpu.launch_func async [%t2] @kernels::@fill clusters in (%c2, %c1, %c1)
      blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) args(%d : memref<?xf32>, %x : f32)
    %t4 = gpu.memcpy async [%t3] %h, %d : memref<?xf32>, memref<?xf32>
    %t5 = gpu.dealloc async [%t4] %d : memref<?xf32>
    gpu.wait [%t5]
    return
  }}
}}
"""

# Uses everything that host code can ask of the runtime.
EVERYTHING = f"""
module attributes {{gpu.container_module}} {{
  {KERNEL}
  func.func @main(%h: memref<?xf32>, %g: memref<?xf16>, %x: f32)
      attributes {{llvm.emit_c_interface}} {{
    {CONSTANTS}
    %device = arith.constant 0 : i32
    gpu.set_default_device %device
    %n = memref.dim %h, %c0 : memref<?xf32>
    %hu = memref.cast %h : memref<?xf32> to memref<*xf32>
    gpu.host_register %hu : memref<*xf32>
    %shared = gpu.alloc host_shared (%n) : memref<?xf32>
    memref.store %x, %shared[%c0] : memref<?xf32>
    %t0 = gpu.wait async
    %d, %t1 = gpu.alloc async [%t0] (%n) : memref<?xf32>
    %e, %t2 = gpu.alloc async [%t1] (%n) : memref<?xf16>
    %z = arith.constant 0.0 : f32
    %z16 = arith.constant 0.0 : f16
    %t3 = gpu.memset async [%t2] %d, %z : memref<?xf32>, f32
    %t4 = gpu.memset async [%t3] %e, %z16 : memref<?xf16>, f16
    %s0 = gpu.wait async
    %s1 = gpu.launch_func async [%s0] @kernels::@fill blocks in (%c2, %c1, %c1)
      threads in (%c32, %c1, %c1) args(%h : memref<?xf32>, %x : f32)
    %t5 = gpu.wait async [%t4, %s1]
    %t6 = gpu.launch_func async [%t5] @kernels::@fill clusters in (%c2, %c1, %c1)
      blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) args(%d : memref<?xf32>, %x : f32)
    %t7 = gpu.memcpy async [%t6] %g, %e : memref<?xf16>, memref<?xf16>
    %t8 = gpu.dealloc async [%t7] %d : memref<?xf32>
    %t9 = gpu.dealloc async [%t8] %e : memref<?xf16>
    gpu.wait [%t9]
    gpu.launch_func @kernels::@fill blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%shared : memref<?xf32>, %x : f32)
    %u0 = gpu.wait async
    %u1 = gpu.dealloc async [%u0] %shared : memref<?xf32>
    gpu.wait [%u1]
    gpu.host_unregister %hu : memref<*xf32>
    return
  }}
}}
"""


def launch(
    cluster: str | None = None,
    grid: int = 2,
    block: int = 32,
    shared_bytes: int = 0,
    kernel: str = KERNEL,
    name: str = "fill",
) -> str:
    """Return a program that makes one launch with these numbers, on registered host memory."""
    clusters = f"clusters in ({cluster})" if cluster else ""
    constants = {number for text in (cluster or "").split(",") if (number := text.strip("% c"))}
    constants |= {"1", str(grid), str(block)}
    declared = "\n".join(f"%c{n} = arith.constant {n} : index" for n in sorted(constants))
    return f"""
module attributes {{gpu.container_module}} {{
  {kernel}
  func.func @main(%h: memref<?xf32>, %x: f32) attributes {{llvm.emit_c_interface}} {{
    {declared}
    %shared = arith.constant {shared_bytes} : i32
    %hu = memref.cast %h : memref<?xf32> to memref<*xf32>
    gpu.host_register %hu : memref<*xf32>
    gpu.launch_func @kernels::@{name} {clusters} blocks in (%c{grid}, %c1, %c1)
      threads in (%c{block}, %c1, %c1) dynamic_shared_memory_size %shared
      args(%h : memref<?xf32>, %x : f32)
    gpu.host_unregister %hu : memref<*xf32>
    return
  }}
}}
"""


def compile_text(text: str) -> Executable:
    """Lower a host program to PTX and host code."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        signatures = signatures_of(module)
        PassManager.parse(PIPELINE).run(module.operation)
        ptx = {}
        for op in module.body.operations:
            if isinstance(op, gpu.BinaryOp):
                name = ir.StringAttr(op.attributes["sym_name"]).value
                ptx[name] = gpu.ObjectAttr(op.objects[0]).object.decode()
        return Executable(module, ptx, signatures, opt_level=2)
