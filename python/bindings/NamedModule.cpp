// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR forgets the names of values when it parses; what it keeps for language
// servers tells where each was defined.
#include "python/bindings/NamedModule.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Whether values of this type may be shared memory: buffers, and groups of
/// barriers.
static bool isNamed(Type type) {
  return isa<MemRefType>(type) || type.getDialect().getNamespace() == "nvgpu";
}

static Location named(llvm::SMRange range, Location location) {
  llvm::StringRef name(range.Start.getPointer(),
                       range.End.getPointer() - range.Start.getPointer());
  name.consume_front("%");
  return NameLoc::get(StringAttr::get(location.getContext(), name), location);
}

static void nameValues(const AsmParserState &state) {
  for (const AsmParserState::OperationDefinition &definition :
       state.getOpDefs()) {
    Operation *op = definition.op;
    if (!definition.resultGroups.empty() && op->getNumResults() != 0 &&
        isNamed(op->getResult(0).getType()))
      op->setLoc(
          named(definition.resultGroups.front().definition.loc, op->getLoc()));
  }
  for (const AsmParserState::BlockDefinition &definition : state.getBlockDefs())
    for (auto [argument, defined] :
         llvm::zip(definition.block->getArguments(), definition.arguments))
      if (isNamed(argument.getType()) && defined.loc.isValid())
        argument.setLoc(named(defined.loc, argument.getLoc()));
}

OwningOpRef<ModuleOp>
tile::parseNamed(const std::shared_ptr<llvm::SourceMgr> &source,
                 const ParserConfig &config) {
  const llvm::MemoryBuffer *buffer =
      source->getMemoryBuffer(source->getMainFileID());
  if (isBytecode(*buffer))
    return parseSourceFile<ModuleOp>(source, config);
  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(*source, &block, config, &state)))
    return {};
  nameValues(state);
  return mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
      &block, config.getContext(),
      FileLineColLoc::get(config.getContext(), buffer->getBufferIdentifier(), 0,
                          0));
}
