// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_REDUCE_OPS_TD
#define TILE_REDUCE_OPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tile_AllReduceOp : Tile_Op<"all_reduce", [MemoryEffects<[MemRead, MemWrite]>, SingleBlock]> {
  let summary = "Combine values over all threads of all CTAs of the cluster";
  let description = [{
    Combines the `values` of all threads of all CTAs of the cluster, and gives each thread the result:
    one value by a named `kind`, one of those of `gpu.all_reduce`, or several at once by a region. The
    block of the region takes all left values in the order of the operands, then all right ones, and
    yields what the two make together. The left values are those of lower threads and ranks; a
    combination must be associative, and need not be commutative.

    All threads of the cluster execute the op, and all of its instances in the same order. It may be
    in loops and branches whose trip counts and conditions are the same in all of these threads: one
    that depends on the thread or on the CTA's rank is refused where that is seen. Kernel arguments,
    `gpu.cluster_id` and results of `tile.all_reduce` are the same in all of them.

    It is a barrier for the threads of a CTA, and needs no buffer, mbarrier or barrier of the
    program's. In what order values are combined is fixed: all threads get the same bits, and get them
    again when the program runs again.

    **Constraints**

    - `r1`: there is a kind and one value, or a region and at least one value.
    - `r2`: values are i32, i64, f16, bf16, f32 or f64, and the results have their types.
    - `r3`: the kind takes values of that type; `inc` and `dec` reduce nothing.
    - `r4`: the region has two arguments of the type of each value, and yields one of each.
    - `r5`: its ops have no effects.

    `tile-lower-all-reduce` asks for more: the op is in a kernel itself, not in a function that it
    calls, and the kernel has a known block size, which is a multiple of 32. Without a known cluster
    size, it makes room for 16 CTAs.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @largest(%values: memref<512xf32>, %places: memref<512xi32>) kernel
          attributes {known_block_size = array<i32: 64, 1, 1>,
                      known_cluster_size = array<i32: 8, 1, 1>} {
        %thread = gpu.global_id x
        %value = memref.load %values[%thread] : memref<512xf32>
        %sum = tile.all_reduce add %value : f32
        %place = arith.index_cast %thread : index to i32
        %max, %where = tile.all_reduce %value, %place {
        ^bb0(%left: f32, %left_place: i32, %right: f32, %right_place: i32):
          %less = arith.cmpf olt, %left, %right : f32
          %larger = arith.select %less, %right, %left : f32
          %its_place = arith.select %less, %right_place, %left_place : i32
          tile.yield %larger, %its_place : f32, i32
        } : f32, i32
        memref.store %where, %places[%thread] : memref<512xi32>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    OptionalAttr<Tile_ReductionKindAttr>:$kind,
    Variadic<AnyType>:$values
  );
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region AnyRegion:$combination);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, ReturnLike, Terminator, HasParent<"::tile::AllReduceOp">]> {
  let summary = "End the combination of a tile.all_reduce";
  let description = [{
    Yields the `values` that the left and the right ones make together.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @product(%values: memref<64xf32>) kernel
          attributes {known_block_size = array<i32: 64, 1, 1>,
                      known_cluster_size = array<i32: 1, 1, 1>} {
        %thread = gpu.thread_id x
        %value = memref.load %values[%thread] : memref<64xf32>
        %product = tile.all_reduce %value {
        ^bb0(%left: f32, %right: f32):
          %both = arith.mulf %left, %right : f32
          tile.yield %both : f32
        } : f32
        memref.store %product, %values[%thread] : memref<64xf32>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // TILE_REDUCE_OPS_TD
