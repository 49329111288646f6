// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_OPS_TD
#define TILE_OPS_TD

include "TileAttrs.td"
include "TileViewOps.td"
include "mlir/Dialect/NVGPU/IR/NVGPUTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_CopyAsyncOp : Tile_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Copy a tile between global memory and the shared memory of CTAs";
  let description = [{
    Starts the copy of the tile `src` to `dst`, and returns at once. The memory spaces say the
    direction, the operands say who gets the tile and what completes:

    | source | destination | receivers | completes on |
    |---|---|---|---|
    | workgroup | workgroup | `cta(%rank)`: CTA `rank` of the cluster | its mbarrier |
    | workgroup | workgroup | `ctas(%mask)`: every CTA of the mask | the mbarrier of each |
    | global | workgroup | the executing CTA | its mbarrier |
    | global | workgroup | `cta(%rank)` | the mbarrier of that CTA |
    | global | workgroup | `ctas(%mask)` | the mbarrier of each |
    | workgroup | global | | a bulk group of the executing thread |

    Memory is global in no memory space, in space 1 and in `#gpu.address_space<global>`. In workgroup
    memory, `dst` and `barriers[barrier_index]` name the executing CTA's own counterparts of the buffer
    and the barrier: the legalization maps them to the receivers, never the caller. `rank` is the linear
    rank `x + y*dx + z*dx*dy` within the cluster. `mask` has bit `r` for rank `r`; the executing CTA may
    be among them, and a mask of 0 copies nothing.

    `rank` may be the executing CTA's own. From workgroup memory that takes a cluster of more than one
    CTA, and `src` and `dst` that do not overlap. PTX allows `st.async` this; of bulk copies it says that
    the destination is in a different CTA. They work on an H200 all the same, so `bulk` is taken, too,
    and the emulator reports it with `--checks strict`; `variant = "st_async"` stays within PTX.

    `reduce(kind)` combines the tile with what is in `dst`, element by element, instead of overwriting
    it. The source is in workgroup memory; what the hardware combines depends on where `dst` is:

    | destination | add | min, max | inc, dec | and, or, xor |
    |---|---|---|---|---|
    | a peer | i32, i64 | i32 | i32 | i32 |
    | global | i32, i64, f16, bf16, f32, f64 | i32, i64, f16, bf16 | i32 | i32, i64 |

    The kinds are those of `gpu.all_reduce`, and `inc` and `dec`, which wrap at the value; the minimum of
    floats is `minnumf`, the maximum `maxnumf`. Each element is combined atomically, in no order that is
    known: sums of floats differ from run to run. `add` of f32 flushes subnormal numbers to zero.

    `cache_hint(evict_first)`, `evict_last` or `evict_normal` says how soon the L2 cache may evict the
    global side; `cache_hint(%policy)` takes the i64 that `createpolicy` gives.

    `issue(...)` says who executes the op: `thread`, exactly one thread of the CTA (the default);
    `warp`, all 32 lanes of one converged warp; `cta`, all threads of the CTA. However many execute
    it, the bytes are copied once and counted once on each barrier. `variant` forces one way of
    copying; without it the analysis chooses.

    A tile has static extents. In global memory, strides and offsets may be known at run time only: the
    analysis proves from `tile.assume_multiple`, from constants and from the promises of kernel arguments
    that each copy begins at a multiple of 16 bytes. A kernel argument promises by `llvm.align` for its
    base, `tile.multiple_of = array<i64: 8, 1>` for its strides, and `tile.offset_multiple_of = 8 : i64` for an
    offset of `?`, both in elements. Launches refuse arguments that break a promise. Strides of run time
    are taken to keep the elements of a destination apart.

    Before it, the source must be written, visible to the executing threads and fenced for the
    async proxy (`nvvm.fence.proxy` by the threads that wrote it); so must what a reduction combines
    with. The barrier's initialisation must be visible to the receivers, and where another CTA receives,
    every CTA of the cluster must have started.

    **Constraints**

    - `c1`, `c2`: `src` and `dst` are in workgroup or global memory.
    - `c3`, `c4`: they have the same shape and the same element type.
    - `c5`: the element type is an integer or a float of whole bytes or of 2 or 4 bits, which are packed (`i1` is a byte);
      index; complex; or a vector of a power of two of bits.
    - `c6`: the extents are static.
    - `c7`: the barrier group is in workgroup memory.
    - `c8`: a constant `barrier_index` is inside the group.
    - `c9`: a constant `rank` is in 0 to 15.
    - `c10`: `variant`, where given, names a variant that exists.
    - `c11`: one side at least is in workgroup memory.
    - `c12`: between workgroup memories there is a `rank` or a `mask`; nowhere are there both.
    - `c13`: to workgroup memory there is a barrier.
    - `c14`: to global memory there is neither a barrier nor a receiver.
    - `c15`: with `reduce`, the source is in workgroup memory, and the element type is one that the kind takes.
    - `c16`: with a cache hint, one side is in global memory; there is one hint.

    **Completion**

    Into workgroup memory, the bytes complete on the barrier of each receiver, which it has armed with
    exactly their number; the op arms nothing and waits for nothing. Threads of that CTA that are ordered
    after a wait on the barrier may read `dst`. `src` may be overwritten once such a thread has told the
    sender so, and no CTA involved may exit before that.

    Into global memory, the copies belong to the bulk group that the issuing thread commits next, by
    `nvvm.cp.async.bulk.commit.group`. With `issue(warp)` or `issue(cta)` that is an elected lane, so all
    threads that execute the op execute the commit and the waits. After
    `nvvm.cp.async.bulk.wait_group N {read}`, all but the last `N` groups of the thread have read their
    sources, which may be overwritten; without `read`, they have written `dst`, too, and the thread that
    waited sees it. No CTA exits before its copies have read.

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

      gpu.func @store(%y: memref<?x64xf32> {llvm.align = 16 : i64}, %row: index)
          workgroup(%tile: memref<16x64xf32, #gpu.address_space<workgroup>>) kernel {
        %rows = memref.subview %y[%row, 0] [16, 64] [1, 1]
            : memref<?x64xf32> to memref<16x64xf32, strided<[64, 1], offset: ?>>
        tile.copy_async %tile to %rows
            : memref<16x64xf32, #gpu.address_space<workgroup>>
              to memref<16x64xf32, strided<[64, 1], offset: ?>>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0 {read}
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    AnyMemRef:$src,
    AnyMemRef:$dst,
    Optional<I32>:$rank,
    Optional<I16>:$mask,
    Optional<NVGPU_MBarrierGroup>:$barriers,
    Optional<Index>:$barrier_index,
    Optional<I64>:$cache_policy,
    OptionalAttr<Tile_ReductionKindAttr>:$reduce,
    OptionalAttr<Tile_CacheHintAttr>:$cache_hint,
    DefaultValuedAttr<Tile_IssueAttr, "::tile::Issue::Thread">:$issue,
    OptionalAttr<StrAttr>:$variant,
    OptionalAttr<Tile_CopyPlanAttr>:$plan
  );
  let assemblyFormat = [{
    $src `to` $dst (`cta` `(` $rank^ `)`)? (`ctas` `(` $mask^ `)`)?
    (`mbarrier` `(` $barriers^ `[` $barrier_index `]` `)`)? ``
    custom<Reduce>($reduce) `` custom<CacheHint>($cache_policy, $cache_hint) `` custom<Issue>($issue) attr-dict
    `:` qualified(type($src)) `to` qualified(type($dst)) (`,` qualified(type($barriers))^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// From which memory to which other one it copies.
    ::tile::Direction getDirection();
    /// Whether another CTA may receive it.
    bool hasReceivers() { return getRank() || getMask(); }
  }];
}

include "TileSyncOps.td"
include "TilePeerOps.td"
include "TileReduceOps.td"

#endif // TILE_OPS_TD
