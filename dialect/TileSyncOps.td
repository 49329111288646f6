// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_SYNC_OPS_TD
#define TILE_SYNC_OPS_TD

// The protocol around a copy. Each op reads and writes memory in general, so that no pass moves an
// access to a tile across it.

def Tile_ArriveOp : Tile_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrive on a barrier of another CTA of the cluster";
  let description = [{
    Counts one arrival on the counterpart of `barriers[barrier_index]` in CTA `rank` of the cluster. It
    is the acknowledgement that frees the source of a copy: the receiver arrives on the sender's
    barrier once it has read the tile. Every thread that executes the op arrives once. `rank` is
    linear, as in `tile.copy_async`; the executing CTA's own is legal.

    `scope` says whose earlier accesses the arrival carries with it. `cta`, the default, is right for
    acknowledging a copy, where no data travels with the arrival. `cluster` is for handing over data
    that was written by ordinary stores; the thread that waits for it then says `cluster`, too. It
    costs a fence.

    **Constraints**

    - `a1`: the barrier group is in workgroup memory.
    - `a2`: a constant `barrier_index` is inside the group.
    - `a3`: a constant `rank` is in 0 to 15.

    **Completion**

    The op returns at once, without a token: the phase completes when as many arrivals as the barrier
    was initialised with, and all bytes it expects, are there.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @free(%sender: i32) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %c0 = arith.constant 0 : index
        %free = nvgpu.mbarrier.create ->
            !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
        tile.arrive %free[%c0] cta(%sender)
            : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    NVGPU_MBarrierGroup:$barriers,
    Index:$barrier_index,
    I32:$rank,
    DefaultValuedAttr<Tile_ScopeAttr, "::tile::Scope::Cta">:$scope
  );
  let assemblyFormat = [{
    $barriers `[` $barrier_index `]` `cta` `(` $rank `)` attr-dict `:` qualified(type($barriers))
  }];
  let hasVerifier = 1;
}

def Tile_ExpectOp : Tile_Op<"expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrive and expect the bytes of the copies into some tiles";
  let description = [{
    Arms `barriers[barrier_index]` of the executing CTA for one phase: counts one arrival, and expects
    exactly the bytes that one copy into each of the `destinations` brings, whatever variant copies
    it. Name a tile once for each copy into it that completes in the phase. Tiles of no bytes leave a
    plain arrival. Exactly one thread executes it, unless the barrier counts more.

    **Constraints**

    - `e1`: the barrier group is in workgroup memory.
    - `e2`: a constant `barrier_index` is inside the group.
    - `e3`: there is at least one destination.
    - `e4`: the destinations are in workgroup memory.
    - `e5`: their extents are static.
    - `e6`: their elements are of a type that `tile.copy_async` takes.
    - `e7`: together they have at most 1048575 bytes, which is what one phase counts.

    **Completion**

    The op waits for nothing. The phase completes when all of its bytes and arrivals are there; the
    bytes may come before the op.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @receive()
          workgroup(%dst: memref<128x64xf16, #gpu.address_space<workgroup>>)
          kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %c0 = arith.constant 0 : index
        %full = nvgpu.mbarrier.create ->
            !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        tile.expect %full[%c0] for %dst
            : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>,
              memref<128x64xf16, #gpu.address_space<workgroup>>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    NVGPU_MBarrierGroup:$barriers,
    Index:$barrier_index,
    Variadic<AnyMemRef>:$destinations
  );
  let assemblyFormat = [{
    $barriers `[` $barrier_index `]` `for` $destinations attr-dict
    `:` qualified(type($barriers)) `,` qualified(type($destinations))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The bytes that one copy into each destination brings.
    int64_t getExpectedBytes();
  }];
}

def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait for a phase of a barrier of the executing CTA";
  let description = [{
    Returns once the phase of parity `parity` of `barriers[barrier_index]` has completed: `false` for
    the first phase, then by turns. A barrier knows only its current and its preceding phase, so the
    parity must follow the phases; `mlir_tile.PipelineState` counts it along with the stage. Every
    thread that goes on to read the tile waits, or is ordered after one that did.

    `spins(n)` bounds the wait: the kernel traps when `n` tries in a row have failed, each of which the
    hardware may suspend for a while. Without it the thread waits for ever.

    `scope` is `cta`, which is enough for bytes that complete on the barrier, or `cluster` where the
    phase hands over data that peers wrote by ordinary stores and announced by `tile.arrive` with scope
    `cluster`.

    **Constraints**

    - `w1`: the barrier group is in workgroup memory.
    - `w2`: a constant `barrier_index` is inside the group.
    - `w3`: the bound on spins is at least 1 and less than 2^31.

    **Completion**

    Bytes and arrivals of the phase are there, and what they announce may be read.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @receive() kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %c0 = arith.constant 0 : index
        %first = arith.constant false
        %full = nvgpu.mbarrier.create ->
            !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        tile.wait %full[%c0] parity(%first) spins(1000000)
            : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    NVGPU_MBarrierGroup:$barriers,
    Index:$barrier_index,
    I1:$parity,
    OptionalAttr<I64Attr>:$max_spins,
    DefaultValuedAttr<Tile_ScopeAttr, "::tile::Scope::Cta">:$scope
  );
  let assemblyFormat = [{
    $barriers `[` $barrier_index `]` `parity` `(` $parity `)` (`spins` `(` $max_spins^ `)`)?
    attr-dict `:` qualified(type($barriers))
  }];
  let hasVerifier = 1;
}

#endif // TILE_SYNC_OPS_TD
