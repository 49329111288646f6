// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_DIALECT_TD
#define TILE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tile";
  let summary = "Asynchronous copies of tiles between the CTAs of a cluster";
  let description = [{
    The CTAs of a cluster can write into each other's shared memory. This dialect has the ops for
    it that upstream lacks; buffers are memrefs in `#gpu.address_space<workgroup>`, barriers are
    `!nvgpu.mbarrier.group`, and everything else is said with upstream's ops.

    Attributes on arguments of functions, which launches of kernels are checked for:

    - `tile.multiple_of = array<i64: 8, 1>` on a memref promises what divides each of its strides, in elements.
    - `tile.offset_multiple_of = N : i64` on a memref whose type leaves the offset open promises what divides it.

    Attributes on ops of others; no other attribute may begin with `tile.`:

    - `tile.insert_sync`, a unit attribute of a kernel or a `gpu.launch`, asks `tile-insert-sync` for
      the fences and cluster barriers that its copies need. As `{war_fences = false}` it asks for no
      fence between ordinary loads and the copies that write over what they read.
    - `tile.alignment = N : i64` on `gpu.dynamic_shared_memory` asks for an alignment of N bytes.
    - `tile.dynamic_shared_memory_front = N : i64` on a kernel says how many bytes of its dynamic
      shared memory `tile-place-shared-memory` has taken, at the front.
    - `tile.shared_names` on a kernel, and on a compiled module, says what the program calls the pieces of
      shared memory, for reports.
    - `tile.kernels` on a compiled module describes its kernels to whoever launches them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::nvgpu::NVGPUDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

#endif // TILE_DIALECT_TD
