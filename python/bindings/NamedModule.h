// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Modules whose locations keep the names that values have in the text.
#ifndef TILE_BINDINGS_NAMED_MODULE_H
#define TILE_BINDINGS_NAMED_MODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <memory>

namespace tile {

/// Parses MLIR or bytecode. Of text, the locations of buffers and groups of
/// barriers are `NameLoc`s, by which reports call them. Null after a
/// diagnostic.
mlir::OwningOpRef<mlir::ModuleOp>
parseNamed(const std::shared_ptr<llvm::SourceMgr> &source,
           const mlir::ParserConfig &config);

} // namespace tile

#endif // TILE_BINDINGS_NAMED_MODULE_H
