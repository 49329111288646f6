// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_OPS_TD
#define TILE_OPS_TD

include "TileAttrs.td"
include "TileViewOps.td"
include "mlir/Dialect/NVGPU/IR/NVGPUTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_CopyAsyncOp : Tile_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copy a tile into the shared memory of another CTA of the cluster";
  let description = [{
    Starts the copy of the tile `src`, in the issuing CTA's shared memory, to `dst` in the shared
    memory of CTA `rank` of the same cluster, and returns at once. `dst` and `barriers[barrier_index]`
    name the issuing CTA's own counterparts of the buffer and the barrier: both are mapped to `rank`
    by the legalization, never by the caller. `rank` is the linear rank `x + y*dx + z*dx*dy` within
    the cluster.

    `rank` may be the issuing CTA's own, in a cluster of more than one CTA and where `src` and `dst` do not
    overlap. PTX allows `st.async` this; of bulk copies it says that the destination is in a different
    CTA. They work on an H200 all the same, so `bulk` is taken, too, and the emulator reports it with
    `--checks strict`; `variant = "st_async"` stays within PTX.

    `issue(...)` says who executes the op: `thread`, exactly one thread of the CTA (the default);
    `warp`, all 32 lanes of one converged warp; `cta`, all threads of the CTA. However many execute
    it, the bytes are copied once and counted once on the barrier. `variant` forces one way of
    copying; without it the analysis chooses.

    Before it, the source must be written, visible to the executing threads and fenced for the
    async proxy (`nvvm.fence.proxy` by the threads that wrote it), every CTA of the cluster must have
    started, and the barrier's initialisation must be visible in the cluster.

    **Constraints**

    - `c1`, `c2`: `src` and `dst` are in workgroup memory.
    - `c3`, `c4`: they have the same shape and the same element type.
    - `c5`: the element type is an integer or a float of whole bytes or of 2 or 4 bits, which are packed (`i1` is a byte);
      index; complex; or a vector of a power of two of bits.
    - `c6`: the extents are static.
    - `c7`: the barrier group is in workgroup memory.
    - `c8`: a constant `barrier_index` is inside the group.
    - `c9`: a constant `rank` is in 0 to 15.
    - `c10`: `variant`, where given, names a variant that exists.

    **Completion**

    The bytes complete on the barrier of CTA `rank`, which the receiver has armed with exactly their
    number; the op arms nothing and waits for nothing. Threads of that CTA that are ordered after a
    wait on the barrier may read `dst`. `src` may be overwritten once such a thread has told the
    sender so, and no CTA involved may exit before that.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @send(%rank: i32)
          workgroup(%src: memref<128x64xf16, #gpu.address_space<workgroup>>,
                    %dst: memref<128x64xf16, #gpu.address_space<workgroup>>)
          kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %c0 = arith.constant 0 : index
        %bars = nvgpu.mbarrier.create ->
            !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0])
            : memref<128x64xf16, #gpu.address_space<workgroup>>
              to memref<128x64xf16, #gpu.address_space<workgroup>>,
              !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    AnyMemRef:$src,
    AnyMemRef:$dst,
    I32:$rank,
    NVGPU_MBarrierGroup:$barriers,
    Index:$barrier_index,
    DefaultValuedAttr<Tile_IssueAttr, "::tile::Issue::Thread">:$issue,
    OptionalAttr<StrAttr>:$variant,
    OptionalAttr<Tile_CopyPlanAttr>:$plan
  );
  let assemblyFormat = [{
    $src `to` $dst `cta` `(` $rank `)` `mbarrier` `(` $barriers `[` $barrier_index `]` `)` ``
    custom<Issue>($issue) attr-dict
    `:` qualified(type($src)) `to` qualified(type($dst)) `,` qualified(type($barriers))
  }];
  let hasVerifier = 1;
}

include "TileSyncOps.td"
include "TilePeerOps.td"
include "TileReduceOps.td"

#endif // TILE_OPS_TD
