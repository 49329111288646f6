// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect and the C++ passes as a plugin of upstream's `mlir-opt`. Links no
// MLIR: the process that loads it has one.
#include "dialect/TileDialect.h"
#include "lib/Plan/Variant.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static constexpr const char *kVersion = "0.1";

static void registerDialect(mlir::DialectRegistry *registry) {
  tile::registerVariants();
  registry->insert<tile::TileDialect>();
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tile", kVersion, registerDialect};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tile", kVersion,
          [] { tile::registerTilePasses(); }};
}
