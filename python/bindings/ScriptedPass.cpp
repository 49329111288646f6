// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/bindings/ScriptedPass.h"
#include "python/bindings/Watch.h"

#include "dialect/TileDialect.h"
#include "lib/Transforms/CheckTypes.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Target.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

#include <memory>

using namespace mlir;

namespace {

struct Script {
  std::string argument;
  std::string description;
  std::function<bool(MlirOperation)> run;
  bool changesNothing;
};

/// Runs on the outermost module only. Scheduled on nested ops, it would run in
/// MLIR's worker threads, which wait for the interpreter lock that the thread
/// waiting for them holds.
class ScriptedPass final : public OperationPass<ModuleOp> {
public:
  explicit ScriptedPass(std::shared_ptr<const Script> script)
      : OperationPass(TypeID::get<ScriptedPass>()), script(std::move(script)) {}

  /// What a script may build. An op of a dialect that is not loaded cannot be
  /// made.
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                memref::MemRefDialect, NVVM::NVVMDialect, nvgpu::NVGPUDialect,
                scf::SCFDialect, vector::VectorDialect>();
  }
  StringRef getName() const override { return script->argument; }
  StringRef getArgument() const override { return script->argument; }
  StringRef getDescription() const override { return script->description; }
  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<ScriptedPass>(script);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->getParentOp()) {
      module.emitError() << "'" << script->argument
                         << "' must run on the outermost module, got a nested "
                            "one";
      return signalPassFailure();
    }
    if (!script->run(wrap(module.getOperation())))
      signalPassFailure();
    if (script->changesNothing)
      markAllAnalysesPreserved();
  }

private:
  std::shared_ptr<const Script> script;
};

/// The options of a scripted pipeline; all are text to us, the script knows
/// better.
class ScriptedOptions : public PassPipelineOptions<ScriptedOptions> {
public:
  explicit ScriptedOptions(const std::vector<tile::ScriptedOption> &declared) {
    for (const tile::ScriptedOption &option : declared)
      options.push_back(std::make_unique<Option<std::string>>(
          *this, option.name, llvm::cl::desc(option.description),
          llvm::cl::init(option.defaultValue)));
  }
  std::vector<std::string> values() const {
    std::vector<std::string> result;
    for (const auto &option : options)
      result.push_back(option->getValue());
    return result;
  }

private:
  std::vector<std::unique_ptr<Option<std::string>>> options;
};

} // namespace

MLIR_DECLARE_EXPLICIT_TYPE_ID(ScriptedPass)
MLIR_DEFINE_EXPLICIT_TYPE_ID(ScriptedPass)

void tile::registerScriptedPass(std::string argument, std::string description,
                                std::function<bool(MlirOperation)> run,
                                bool changesNothing) {
  auto script = std::make_shared<const Script>(
      Script{std::move(argument), std::move(description), std::move(run),
             changesNothing});
  registerPass([script] { return std::make_unique<ScriptedPass>(script); });
}

bool tile::isRegistered(const std::string &argument) {
  return PassInfo::lookup(argument) || PassPipelineInfo::lookup(argument);
}

MlirOperation tile::firstUnlowered(MlirOperation root) {
  Operation *found = nullptr;
  unwrap(root)->walk([&](Operation *op) {
    if (!isa_and_nonnull<tile::TileDialect>(op->getDialect()) ||
        isa<tile::ViewOp, tile::SliceOp, tile::OffsetOp, tile::PeerOp,
            tile::StoreAsyncOp, tile::AssumeMultipleOp>(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return wrap(found);
}

void tile::registerScriptedPipeline(
    std::string argument, std::string description,
    std::vector<ScriptedOption> declared,
    std::function<std::pair<bool, std::string>(std::vector<std::string>)>
        build) {
  // The registry keeps references into the options for as long as the process
  // lives.
  auto &options = *new std::vector<ScriptedOption>(std::move(declared));
  registerPassPipeline(
      argument, description,
      [&options, build](OpPassManager &manager, StringRef text,
                        function_ref<LogicalResult(const Twine &)> error) {
        ScriptedOptions parsed(options);
        std::string message;
        llvm::raw_string_ostream stream(message);
        if (failed(parsed.parseFromString(text, stream)))
          return error(message);
        auto [succeeded, result] = build(parsed.values());
        if (!succeeded)
          return error(result);
        if (failed(parsePassPipeline(result, manager, stream)))
          return error(message);
        return success();
      },
      [&options](function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(ScriptedOptions(options));
      });
}

void tile::registerDialects(MlirDialectRegistry registry) {
  DialectRegistry &target = *unwrap(registry);
  target.insert<TileDialect>();
}

/// Every dialect there is, for a tool.
static DialectRegistry allDialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  tile::registerDialects(wrap(&registry));
  return registry;
}

static std::vector<char *> argvOf(std::vector<std::string> &arguments) {
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  return argv;
}

namespace {
/// Verifies what was parsed, after a look at its types, which upstream's
/// verifiers may end the process on.
struct VerifyInput : PassWrapper<VerifyInput, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyInput)
  StringRef getName() const override { return "VerifyInput"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(tile::checkElementCounts(getOperation())) ||
        failed(tile::checkChips(getOperation())) ||
        failed(verify(getOperation())))
      signalPassFailure();
  }
};
} // namespace

int tile::optMain(std::vector<std::string> arguments) {
  silenceStackDumps();
  DialectRegistry registry = allDialects();
  std::vector<char *> pointers = argvOf(arguments);
  int argc = static_cast<int>(pointers.size());
  char **argv = pointers.data();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "tile-opt: the tile dialect", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses() ||
      !config.shouldVerifyOnParsing())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  std::unique_ptr<llvm::ToolOutputFile> out;
  if (file)
    out = openOutputFile(output, &message);
  if (!out) {
    llvm::errs() << message << "\n";
    return EXIT_FAILURE;
  }
  MlirOptMainConfig verified = config;
  verified.verifyOnParsing(false);
  verified.setPassPipelineSetupFn([&config](PassManager &passes) {
    passes.addPass(std::make_unique<VerifyInput>());
    return config.setupPassPipeline(passes);
  });
  LogicalResult result =
      MlirOptMain(out->os(), std::move(file), registry, verified);
  out->os().flush();
  if (std::error_code error = out->os().error()) {
    // LLVM would end the process over it, and not say which file it is.
    out->os().clear_error();
    llvm::errs() << "error: "
                 << (output == "-" ? StringRef("standard output")
                                   : StringRef(output))
                 << ": " << StringRef(error.message()).lower() << "\n";
    return EXIT_FAILURE;
  }
  if (succeeded(result))
    out->keep();
  return asMainReturnCode(result);
}

int tile::lspServerMain(std::vector<std::string> arguments) {
  DialectRegistry registry = allDialects();
  std::vector<char *> argv = argvOf(arguments);
  return asMainReturnCode(
      MlirLspServerMain(static_cast<int>(argv.size()), argv.data(), registry));
}

void tile::emitError(MlirOperation op, const std::string &message,
                     const std::string &note) {
  InFlightDiagnostic diag = unwrap(op)->emitError(message);
  if (!note.empty())
    diag.attachNote() << note;
}

void tile::registerPasses() { registerTilePasses(); }
