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

#endif // TILE_ENUMS_TD
