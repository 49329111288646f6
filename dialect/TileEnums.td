// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_ENUMS_TD
#define TILE_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Tile_Issue : I32EnumAttr<"Issue", "Who executes the op", [
  I32EnumAttrCase<"Thread", 0, "thread">,
  I32EnumAttrCase<"Warp", 1, "warp">,
  I32EnumAttrCase<"Cta", 2, "cta">
]> {
  let cppNamespace = "::tile";
  let genSpecializedAttr = 0;
}

def Tile_Scope : I32EnumAttr<"Scope", "The threads whose ordinary accesses an arrive or a wait orders", [
  I32EnumAttrCase<"Cta", 0, "cta">,
  I32EnumAttrCase<"Cluster", 1, "cluster">
]> {
  let cppNamespace = "::tile";
  let genSpecializedAttr = 0;
}

def Tile_ReductionKind : I32EnumAttr<"ReductionKind", "What a reduction makes of two values", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Mul", 1, "mul">,
  I32EnumAttrCase<"MinUI", 2, "minui">,
  I32EnumAttrCase<"MinSI", 3, "minsi">,
  I32EnumAttrCase<"MinNumF", 4, "minnumf">,
  I32EnumAttrCase<"MaxUI", 5, "maxui">,
  I32EnumAttrCase<"MaxSI", 6, "maxsi">,
  I32EnumAttrCase<"MaxNumF", 7, "maxnumf">,
  I32EnumAttrCase<"And", 8, "and">,
  I32EnumAttrCase<"Or", 9, "or">,
  I32EnumAttrCase<"Xor", 10, "xor">,
  I32EnumAttrCase<"MinimumF", 11, "minimumf">,
  I32EnumAttrCase<"MaximumF", 12, "maximumf">,
  I32EnumAttrCase<"Inc", 13, "inc">,
  I32EnumAttrCase<"Dec", 14, "dec">
]> {
  let cppNamespace = "::tile";
  let genSpecializedAttr = 0;
}

def Tile_CacheHint : I32EnumAttr<"CacheHint", "What the L2 cache evicts sooner or later", [
  I32EnumAttrCase<"EvictNormal", 0, "evict_normal">,
  I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
  I32EnumAttrCase<"EvictLast", 2, "evict_last">
]> {
  let cppNamespace = "::tile";
  let genSpecializedAttr = 0;
}

#endif // TILE_ENUMS_TD
