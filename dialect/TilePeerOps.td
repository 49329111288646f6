// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_PEER_OPS_TD
#define TILE_PEER_OPS_TD

// What single threads send to peers: registers, and accesses to their memory.

def Tile_StoreAsyncOp : Tile_Op<"store_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Store a value from registers into the shared memory of another CTA of the cluster";
  let description = [{
    Starts the store of `value` to `dst[indices]` of CTA `rank` of the same cluster, and returns at
    once. Every thread that executes the op stores its own value. As in `tile.copy_async`, `dst` and
    `barriers[barrier_index]` name the executing CTA's own counterparts of the buffer and the barrier,
    and `rank` is linear. It may be the executing CTA's own, in a cluster of more than one CTA.

    A vector goes to elements from `dst[indices]` on along the last dimension. They must be contiguous
    in memory, and the first one must be at a multiple of the bytes stored: `tile-analyze-layout`
    proves both, from the same facts as for copies, and marks the op `aligned`.

    `reduce(kind)` combines the value with what is there instead of overwriting it. Of 32 bits, it
    takes `add`, `minsi`, `maxsi`, `minui`, `maxui`, `and`, `or`, `xor`, and `inc` and `dec`, which
    wrap at the value; of 64 bits, `add`. The hardware has no more: floats are combined over a cluster by
    `tile.all_reduce`, and in one place by `memref.atomic_rmw` on a `tile.peer`.

    Before it, every CTA of the cluster must have started, and the barrier's initialisation must be
    visible in the cluster.

    **Constraints**

    - `p1`: `dst` is in workgroup memory.
    - `p2`: `value` has the element type of `dst`, or is a vector of one dimension of it.
    - `p3`: it has 4, 8 or 16 bytes, in elements of 8, 16, 32 or 64 bits.
    - `p4`: there is one index for each dimension of `dst`, and at least one for a vector.
    - `p5`: the barrier group is in workgroup memory.
    - `p6`: a constant `barrier_index` is inside the group.
    - `p7`: a constant `rank` is in 0 to 15.
    - `p8`: with `reduce`, `value` is an integer that the kind takes.

    **Completion**

    The bytes complete on the barrier of CTA `rank`, which the receiver arms with the bytes of all
    stores of a phase: `tile.expect` for a tile that stores fill. Threads of that CTA that are ordered
    after a wait on the barrier may read what was stored. No CTA involved may exit before that.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @send(%rank: i32, %value: vector<4xf32>)
          workgroup(%dst: memref<32x4xf32, #gpu.address_space<workgroup>>)
          kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %c0 = arith.constant 0 : index
        %lane = gpu.lane_id
        %bars = nvgpu.mbarrier.create ->
            !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        tile.store_async %value to %dst[%lane, %c0] cta(%rank) mbarrier(%bars[%c0])
            : vector<4xf32>, memref<32x4xf32, #gpu.address_space<workgroup>>,
              !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    AnyType:$value,
    AnyMemRef:$dst,
    Variadic<Index>:$indices,
    I32:$rank,
    NVGPU_MBarrierGroup:$barriers,
    Index:$barrier_index,
    OptionalAttr<Tile_ReductionKindAttr>:$reduce,
    UnitAttr:$aligned
  );
  let assemblyFormat = [{
    $value `to` $dst `[` $indices `]` `cta` `(` $rank `)`
    `mbarrier` `(` $barriers `[` $barrier_index `]` `)` `` custom<Reduce>($reduce) attr-dict
    `:` type($value) `,` qualified(type($dst)) `,` qualified(type($barriers))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The bytes that one thread stores.
    int64_t getStoredBytes();
    /// The elements that it stores, side by side in the last dimension.
    int64_t getStoredElements();
  }];
}

def Tile_PeerOp : Tile_ViewLikeOp<"peer"> {
  let summary = "See the counterpart of a buffer in another CTA of the cluster";
  let description = [{
    The buffer `source` as it is in CTA `rank` of the cluster, in memory space 7, the shared memory of
    the whole cluster. Upstream's ops work on it: `memref.load` and `memref.store`, vector loads, stores
    and transfers, `memref.subview` and `tile.slice`, and `memref.atomic_rmw`, which adds floats as
    well. `rank` is linear, as in `tile.copy_async`, and may be the executing CTA's own. A copy takes
    no such view: it maps its destination itself.

    Each access is a use of a peer: every CTA of the cluster must have started before it, and none may
    exit before the last one. What one CTA stores this way is visible to another one after a cluster
    barrier, or after `tile.arrive` and `tile.wait` of scope `cluster`.

    **Constraints**

    - `q1`: `source` is in workgroup memory.
    - `q2`: the result has the type of `source`, in memory space 7.
    - `q3`: a constant `rank` is in 0 to 15.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @count(%bin: index, %owner: i32)
          workgroup(%bins: memref<64xi32, #gpu.address_space<workgroup>>)
          kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %one = arith.constant 1 : i32
        %there = tile.peer %bins cta(%owner)
            : memref<64xi32, #gpu.address_space<workgroup>> to memref<64xi32, 7>
        %old = memref.atomic_rmw addi %one, %there[%bin] : (i32, memref<64xi32, 7>) -> i32
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the buffer of the executing CTA">:$source,
    I32:$rank
  );
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source `cta` `(` $rank `)` attr-dict
    `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
}

#endif // TILE_PEER_OPS_TD
