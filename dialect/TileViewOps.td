// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_VIEW_OPS_TD
#define TILE_VIEW_OPS_TD

include "TileAttrs.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class Tile_ViewLikeOp<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, !listconcat(traits, [
        Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>])>;

def Tile_ViewOp : Tile_ViewLikeOp<"view"> {
  let summary = "See part of a flat buffer as a tile with a layout";
  let description = [{
    The elements of `source` from `offset` on, as a tile with the layout of the result. The view is a
    buffer of its own: its start is what the layout's offset and swizzle count from.

    **Constraints**

    - `v1`: `source` has one dimension, and its elements lie side by side from its start.
    - `v2`: both have the same element type and the same memory space.
    - `v3`: the result has a `#tile.layout` whose offset is known.
    - `v4`: there is one `offset`, not negative; as far as it and the size of `source` are known, the
      layout ends inside `source`.

    **Example**

    ```mlir
    gpu.module @kernels {
      gpu.func @views(%slot: index)
          workgroup(%flat: memref<1024xf16, #gpu.address_space<workgroup>>) kernel {
        %tile = tile.view %flat[%slot] : memref<1024xf16, #gpu.address_space<workgroup>>
            to memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>,
                      #gpu.address_space<workgroup>>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the flat buffer">:$source,
    Variadic<Index>:$offset,
    DenseI64ArrayAttr:$static_offset
  );
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source `` custom<DynamicIndexList>($offset, $static_offset) attr-dict
    `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let extraClassDeclaration = [{
    ::mlir::OpFoldResult getMixedOffset();
    ::mlir::MemRefType getSourceType() { return ::llvm::cast<::mlir::MemRefType>(getSource().getType()); }
    ::mlir::MemRefType getResultType() { return ::llvm::cast<::mlir::MemRefType>(getResult().getType()); }
    ::tile::LayoutAttr getLayoutAttr() { return ::llvm::cast<::tile::LayoutAttr>(getResultType().getLayout()); }
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_SliceOp : Tile_ViewLikeOp<"slice"> {
  let summary = "A region of a tile with a layout";
  let description = [{
    The `sizes` coordinates of `source` from `offsets` on, in each dimension. The result lies in the
    same buffer: its layout keeps the buffer's swizzle, and its offset counts from the buffer's start.
    Dimensions of size 1 may be left out of the result. What `memref.subview` is to strided memrefs.

    Where a dimension is nested and its offset is known at run time only, the offset must be a multiple
    of the size, or of the faster modes where the slowest mode is cut; `tile-analyze-layout` and
    `tile-expand-layout` prove that.

    **Constraints**

    - `s1`: `source` has a `#tile.layout`.
    - `s2`: one offset and one size for each of its dimensions.
    - `s3`: sizes are positive and, with the known offsets, inside `source`.
    - `s4`: in a nested dimension, the region ends inside the mode that it begins in, the faster modes
      whole.
    - `s5`: the result's type is what follows from the rest; its layout's offset may be `?`.

    **Example**

    ```mlir
    func.func @columns(%tile: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>) {
      %right = tile.slice %tile[0, 32] [8, 32]
          : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>
            to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = 32, swizzle = <3, 3, 3>>>
      return
    }
    ```
  }];
  let arguments = (ins
    AnyMemRef:$source,
    Variadic<Index>:$offsets,
    DenseI64ArrayAttr:$static_offsets,
    DenseI64ArrayAttr:$sizes
  );
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source `` custom<DynamicIndexList>($offsets, $static_offsets) $sizes attr-dict
    `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedOffsets();
    ::mlir::MemRefType getSourceType() { return ::llvm::cast<::mlir::MemRefType>(getSource().getType()); }
    ::mlir::MemRefType getResultType() { return ::llvm::cast<::mlir::MemRefType>(getResult().getType()); }
    /// The type of a slice of all dimensions; nothing where the region is not a layout, and then the
    /// dimension that is to blame.
    static ::std::optional<::mlir::MemRefType> inferResultType(
        ::mlir::MemRefType source, ::llvm::ArrayRef<int64_t> staticOffsets,
        ::llvm::ArrayRef<int64_t> sizes, unsigned &dimension);
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_OffsetOp : Op<Tile_Dialect, "offset", [Pure]> {
  let summary = "Elements from a tile's buffer to the tile, before the swizzle";
  let description = [{
    The offset of the layout of `tile`, which is a value where the layout says `offset = ?`.

    **Constraints**

    - `o1`: `tile` has a `#tile.layout`.

    **Example**

    ```mlir
    func.func @offset(%tile: memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?>>) -> index {
      %offset = tile.offset %tile : memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?>>
      return %offset : index
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$tile);
  let results = (outs Index:$offset);
  let assemblyFormat = "$tile attr-dict `:` qualified(type($tile))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_AssumeMultipleOp : Op<Tile_Dialect, "assume_multiple",
                               [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "Promise that a number is a multiple of another";
  let description = [{
    The `value`, of which the analysis may take for granted that `divisor` divides it. Nothing is
    computed, and a promise that is broken is undefined behaviour; with `check-assumptions`,
    `tile-expand-layout` has it checked at run time.

    **Constraints**

    - `m1`: `divisor` is at least 1.
    - `m2`: `divisor` is a number of the type of `value`.

    **Example**

    ```mlir
    func.func @column(%j: index) -> index {
      %aligned = tile.assume_multiple %j, 8 : index
      return %aligned : index
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnySignlessInteger, Index]>:$value, I64Attr:$divisor);
  let results = (outs AnyTypeOf<[AnySignlessInteger, Index]>:$result);
  let assemblyFormat = "$value `,` $divisor attr-dict `:` type($value)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TILE_VIEW_OPS_TD
