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

def Tile_CopyPlanAttr : Tile_Attr<"CopyPlan", "copy_plan"> {
  let summary = "How a tile is cut into hardware copies, in bytes";
  let description = [{
    What `tile-analyze-layout` found and proved for one `tile.copy_async`: `count` copies of `chunk`
    bytes each, one for each point of the `loops` (the first is the outermost). On each side, the
    copy at point `(i, j, ...)` begins `start + i * steps[0] + j * steps[1] + ...` bytes behind the
    buffer's start. Where the offset has a part that is known at run time only, `start` is the part
    that is known. A plan of no bytes has `count = 0`.

    A source with `gather = [bytes, step]` does not hold the bytes of a copy in one piece, but in parts
    of `bytes`, `step` apart. With `gather = [bytes, step, n, far]` so lie `n` parts; `far` bytes after the first
    of them the next `n` begin, and so on with further pairs. `threads` says how many issue the copies, where they are not issued by the
    one thread that executes the op: thread `t` of them takes the copies `t`, `t + threads`, ..., counted with
    the last loop as the fastest. `clk` is the estimate by which the variant was chosen, in clocks of the
    SM.

    ```mlir
    #tile.copy_plan<bulk, chunk = 256, count = 8, loops = [8],
                    src = {start = 0, steps = [512]}, dst = {start = 0, steps = [1024]}>
    ```

    ```mlir
    #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [8, 64, 2],
                    src = {start = 0, steps = [2048, 4, 1024], gather = [4, 256]},
                    dst = {start = 0, steps = [32, 256, 16]}, threads = 256, clk = 778>
    ```
  }];
  let parameters = (ins
    StringRefParameter<"the variant that issues the copies">:$variant,
    "int64_t":$chunk,
    "int64_t":$count,
    ArrayRefParameter<"int64_t">:$loops,
    "int64_t":$srcStart,
    ArrayRefParameter<"int64_t">:$srcSteps,
    ArrayRefParameter<"int64_t", "bits, base and shift, or nothing">:$srcSwizzle,
    ArrayRefParameter<"int64_t", "bytes of a part and bytes to the next, then how many of these and bytes to the next group, or nothing">:$srcGather,
    "int64_t":$dstStart,
    ArrayRefParameter<"int64_t">:$dstSteps,
    ArrayRefParameter<"int64_t", "bits, base and shift, or nothing">:$dstSwizzle,
    DefaultValuedParameter<"int64_t", "0">:$threads,
    DefaultValuedParameter<"int64_t", "0">:$clk
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes that all copies of the plan bring together.
    int64_t getTotalBytes() const { return getChunk() * getCount(); }
    /// Bytes from where a copy begins in the source to each of its parts.
    ::llvm::SmallVector<int64_t> getSrcPartOffsets() const;
  }];
}

#endif // TILE_ATTRS_TD
