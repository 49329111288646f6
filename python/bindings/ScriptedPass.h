// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes and pipelines whose body is a callback, in MLIR's registry under a
// name of their own, so that textual pipelines, `tile-opt` and Python's
// PassManager all know them.
#ifndef TILE_BINDINGS_SCRIPTED_PASS_H
#define TILE_BINDINGS_SCRIPTED_PASS_H

#include "mlir-c/IR.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tile {

struct ScriptedOption {
  std::string name;
  std::string description;
  std::string defaultValue;
};

/// The callback runs on the outermost `builtin.module` and returns whether it
/// succeeded; otherwise it has emitted a diagnostic. It must not let an
/// exception out. What it does not change is not verified again.
void registerScriptedPass(std::string argument, std::string description,
                          std::function<bool(MlirOperation)> run,
                          bool changesNothing);

/// Whether MLIR's registry has a pass or a pipeline called `argument`.
bool isRegistered(const std::string &argument);

/// The first op under `root` of the tile dialect, except for those on layouts,
/// which tile-expand-layout rewrites; null without one.
MlirOperation firstUnlowered(MlirOperation root);

/// The callback turns the values of `options`, in their order, into the text of
/// a pipeline, or into an error (`false` and its text).
void registerScriptedPipeline(
    std::string argument, std::string description,
    std::vector<ScriptedOption> options,
    std::function<std::pair<bool, std::string>(std::vector<std::string>)>
        build);

/// Emits an error at `op`, with a note where there is one.
void emitError(MlirOperation op, const std::string &message,
               const std::string &note);

/// Registers the passes of lib/Transforms; call it once.
void registerPasses();

/// `mlir-opt` with the tile dialect.
int optMain(std::vector<std::string> arguments);

/// `mlir-lsp-server` with the tile dialect, on stdin and stdout.
int lspServerMain(std::vector<std::string> arguments);

/// Adds the tile dialect and what translating device code to LLVM IR needs.
void registerDialects(MlirDialectRegistry registry);

} // namespace tile

#endif // TILE_BINDINGS_SCRIPTED_PASS_H
