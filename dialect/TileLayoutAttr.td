// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_LAYOUT_ATTR_TD
#define TILE_LAYOUT_ATTR_TD

include "TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout", [
    DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface,
                                ["isIdentity", "verifyLayout", "getStridesAndOffset"]>]> {
  let mnemonic = "layout";
  let summary = "Where the elements of a tile lie in its buffer";
  let description = [{
    The layout of a memref that `strided` cannot say: one mode, `extent : stride`, for each dimension
    of the tile, in elements. A mode may be nested; it then counts row-major, the last entry the
    fastest (deeper nesting means the same and is flattened). The offset of the element at a
    coordinate is `offset` plus the sum of digit times stride. `offset = ?` is known at run time only.

    `swizzle = <bits, base, shift>` is applied last, to that whole offset `x` counted from the
    buffer's start: the element lies at `x ^ (((x >> (base + shift)) & (2^bits - 1)) << base)`.

    **Constraints**

    - `l1`: shape and strides have the same nesting, of at most 32 levels.
    - `l2`: extents are positive.
    - `l3`: `bits` is at least 1, `base` at least 0, `shift` at least `bits`, their sum at most 30.
    - `l4`: places fit 64 bits; with a swizzle and a known offset, none is before the buffer's start.
    - `l5`: a memref with this layout has its extents.

    **Example**

    ```mlir
    func.func @swizzled(%tile: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>,
                        %panels: memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>>) {
      return
    }
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$extents,
    ArrayRefParameter<"int64_t">:$strides,
    ArrayRefParameter<"int64_t", "modes of each dimension">:$modeCounts,
    "int64_t":$offset,
    ArrayRefParameter<"int64_t", "bits, base and shift, or nothing">:$swizzle
  );
  let builders = [
    AttrBuilder<(ins "const ::tile::layout::Layout &":$layout, CArg<"bool", "false">:$dynamicOffset)>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Deeper parentheses mean nothing, and reading each level takes stack.
    static constexpr int kMaxNesting = 32;
    /// The layout as the algebra knows it; an offset of `?` is 0 there.
    ::tile::layout::Layout getLayout() const;
    bool hasDynamicOffset() const { return ::mlir::ShapedType::isDynamic(getOffset()); }
    /// One extent for each dimension.
    ::llvm::SmallVector<int64_t> getShape() const;
  }];
}

#endif // TILE_LAYOUT_ATTR_TD
