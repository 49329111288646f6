// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM writes a place only for an instruction whose scope leads to its
// function. Upstream's pass makes one scope for each function, so that all is
// in one file, and ends the process on places of calls outside of functions.
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

namespace tile {
#define GEN_PASS_DEF_TILEADDLINEINFO
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using LLVM::DIScopeAttr;

/// The place in a file that a location names; none if there is none. Of calls
/// it is the innermost, the place that was called: LLVM does not write the
/// others.
static FileLineColLoc placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place;
  if (auto named = dyn_cast<NameLoc>(location))
    return placeOf(named.getChildLoc());
  if (auto opaque = dyn_cast<OpaqueLoc>(location))
    return placeOf(opaque.getFallbackLocation());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    FileLineColLoc callee = placeOf(call.getCallee());
    return callee ? callee : placeOf(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = placeOf(part))
        return place;
  return nullptr;
}

namespace {
/// The scopes of one function.
class Scopes {
public:
  explicit Scopes(LLVM::LLVMFuncOp function) : context(function.getContext()) {
    FileLineColLoc place = firstPlace(function);
    file = fileOf(place);
    auto unit = LLVM::DICompileUnitAttr::get(
        newId(), llvm::dwarf::DW_LANG_C, file,
        StringAttr::get(context, "mlir-tile"), /*isOptimized=*/true,
        LLVM::DIEmissionKind::DebugDirectivesOnly);
    unsigned line = place ? place.getLine() : 1;
    auto name = StringAttr::get(context, function.getName());
    subprogram = LLVM::DISubprogramAttr::get(
        context, newId(), unit, file, name, name, file, line, line,
        LLVM::DISubprogramFlags::Definition |
            LLVM::DISubprogramFlags::Optimized,
        LLVM::DISubroutineTypeAttr::get(context, {}), /*retainedNodes=*/{},
        /*annotations=*/{});
    function->setLoc(FusedLoc::get(context, {function.getLoc()}, subprogram));
  }

  /// The location as LLVM writes it: one place, with a scope in its file.
  Location scoped(Location location) {
    FileLineColLoc place = placeOf(location);
    if (!place)
      return UnknownLoc::get(context);
    LLVM::DIFileAttr its = fileOf(place);
    if (its == file)
      return place;
    return FusedLoc::get(
        context, {place},
        LLVM::DILexicalBlockFileAttr::get(subprogram, its,
                                          /*discriminator=*/0));
  }

private:
  DistinctAttr newId() { return DistinctAttr::create(UnitAttr::get(context)); }

  /// Where the function is, or else the first of its ops that is anywhere.
  static FileLineColLoc firstPlace(LLVM::LLVMFuncOp function) {
    FileLineColLoc place = placeOf(function.getLoc());
    if (place)
      return place;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      place = placeOf(op->getLoc());
      return place ? WalkResult::interrupt() : WalkResult::advance();
    });
    return place;
  }

  LLVM::DIFileAttr fileOf(FileLineColLoc place) {
    StringRef path = place ? place.getFilename().getValue() : "<unknown>";
    return LLVM::DIFileAttr::get(context, llvm::sys::path::filename(path),
                                 llvm::sys::path::parent_path(path));
  }

  MLIRContext *context;
  LLVM::DIFileAttr file;
  LLVM::DISubprogramAttr subprogram;
};

struct AddLineInfo : tile::impl::TileAddLineInfoBase<AddLineInfo> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUModuleOp module) {
      for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
        // What has scopes already says more.
        if (function.isExternal() ||
            function.getLoc()
                ->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>())
          continue;
        Scopes scopes(function);
        function.getBody().walk(
            [&](Operation *op) { op->setLoc(scopes.scoped(op->getLoc())); });
      }
    });
  }
};
} // namespace
