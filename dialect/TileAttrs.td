// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_ATTRS_TD
#define TILE_ATTRS_TD

include "TileDialect.td"
include "TileEnums.td"
include "TileLayoutAttr.td"
include "mlir/IR/AttrTypeBase.td"

class Tile_Attr<string name, string attrMnemonic> : AttrDef<Tile_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Tile_IssueAttr : EnumAttr<Tile_Dialect, Tile_Issue, "issue"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ScopeAttr : EnumAttr<Tile_Dialect, Tile_Scope, "scope"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ReductionKindAttr : EnumAttr<Tile_Dialect, Tile_ReductionKind, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_CacheHintAttr : EnumAttr<Tile_Dialect, Tile_CacheHint, "cache_hint"> {
  let assemblyFormat = "`<` $value `>`";
}

/// `[8, 4]`; `struct` would print it without the brackets.
class Tile_Numbers<string desc> : ArrayRefParameter<"int64_t", desc> {
  let parser = "::parseNumbers($_parser)";
  let printer = "::printNumbers($_printer, $_self)";
}

/// The same with `?` for numbers that only the run time knows.
class Tile_Steps<string desc> : ArrayRefParameter<"int64_t", desc> {
  let parser = "::parseSteps($_parser)";
  let printer = "::printSteps($_printer, $_self)";
}

class Tile_OptionalNumbers<string desc> : OptionalArrayRefParameter<"int64_t", desc> {
  let parser = "::parseNumbers($_parser)";
  let printer = "::printNumbers($_printer, $_self)";
}

def Tile_VariantName : StringRefParameter<"the variant that issues the copies"> {
  let parser = "::parseName($_parser)";
  let printer = "$_printer << $_self";
}

def Tile_CopySideAttr : Tile_Attr<"CopySide", "copy_side"> {
  let summary = "Where the copies of a plan begin on one side, in bytes";
  let description = [{
    The copy at point `(i, j, ...)` of the plan's loops begins `start + i * steps[0] + j * steps[1] + ...` bytes
    after the buffer's start. Where the offset has a part that is known at run time only, `start` is the part
    that is known. With `swizzle = [bits, base, shift]`, in bits of bytes, addresses are then swizzled.

    A step that only the run time knows is `?`. For each of them `strides` has two numbers: the dimension of
    the memref whose stride it is made of, and the bytes by which that stride is multiplied.

    A source with `gather = [bytes, step]` does not hold the bytes of a copy in one piece, but in parts
    of `bytes`, `step` apart. With `gather = [bytes, step, n, far]` so lie `n` parts; `far` bytes after the first
    of them the next `n` begin, and so on with further pairs.

    ```mlir
    #tile.copy_side<start = 0, steps = [512], swizzle = [3, 4, 3]>
    ```

    ```mlir
    #tile.copy_side<start = 0, steps = [?, 256], strides = [0, 4]>
    ```
  }];
  let parameters = (ins
    "int64_t":$start,
    Tile_Steps<"bytes from one copy to the next, for each loop of the plan; `?` where the run time knows them">:$steps,
    Tile_OptionalNumbers<"bits, base and shift, or nothing">:$swizzle,
    Tile_OptionalNumbers<"bytes of a part and bytes to the next, then how many of these and bytes to the next group, or nothing">:$gather,
    Tile_OptionalNumbers<"a dimension and its stride's factor in bytes for each `?`, or nothing">:$strides
  );
  let assemblyFormat = "`<` struct($start, $steps, $swizzle, $gather, $strides) `>`";
  let genVerifyDecl = 1;
}

def Tile_CopyPlanAttr : Tile_Attr<"CopyPlan", "copy_plan"> {
  let summary = "How a tile is cut into hardware copies, in bytes";
  let description = [{
    What `tile-analyze-layout` found and proved for one `tile.copy_async`: `count` copies of `chunk`
    bytes each, one for each point of the `loops` (the first is the outermost). `src` and `dst` are each a
    `#tile.copy_side`: where the copies begin. A plan of no bytes has `count = 0`.

    `threads` is how many threads issue the copies, where these are not issued by the
    one thread that executes the op: thread `t` of them takes the copies `t`, `t + threads`, ..., counted with
    the last loop as the fastest. `cycles` is the estimate by which the variant was chosen, in clock cycles of the
    SM.

    ```mlir
    #tile.copy_plan<bulk, chunk = 256, count = 8, loops = [8],
                    src = <start = 0, steps = [512]>, dst = <start = 0, steps = [1024]>>
    ```

    ```mlir
    #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [8, 64, 2],
                    src = <start = 0, steps = [2048, 4, 1024], gather = [4, 256]>,
                    dst = <start = 0, steps = [32, 256, 16]>, threads = 256, cycles = 778>
    ```
  }];
  let parameters = (ins
    Tile_VariantName:$variant,
    "int64_t":$chunk,
    "int64_t":$count,
    Tile_Numbers<"extents, the outermost first">:$loops,
    "CopySideAttr":$src,
    "CopySideAttr":$dst,
    DefaultValuedParameter<"int64_t", "0">:$threads,
    DefaultValuedParameter<"int64_t", "0">:$cycles
  );
  let assemblyFormat = [{
    `<` $variant `,` struct($chunk, $count, $loops, $src, $dst, $threads, $cycles) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes that all copies of the plan bring together.
    int64_t getTotalBytes() const { return getChunk() * getCount(); }
    /// Bytes from where a copy begins in the source to each of its parts.
    ::llvm::SmallVector<int64_t> getPartOffsets() const;
  }];
}

#endif // TILE_ATTRS_TD
