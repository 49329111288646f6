// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Upstream's serialization with its errors: LLVM ends the process on an
// instruction that the target lacks, and on wrong inline assembly, or prints
// without a place.
#include "lib/Transforms/InlineAssembly.h"
#include "lib/Transforms/Instructions.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Target.h"

#include "dialect/TileDialect.h"

#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tile {
#define GEN_PASS_DEF_TILEEMBEDKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

/// While a module is serialized, the number of each op that LLVM may complain
/// about.
static constexpr llvm::StringLiteral kNumber = "tile.number";

namespace {
/// Hands an op's number on to its LLVM instructions, and refuses those that a
/// target of its module lacks.
struct Numbers : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult amendOperation(Operation *op,
                               ArrayRef<llvm::Instruction *> instructions,
                               NamedAttribute attribute,
                               LLVM::ModuleTranslation &) const override {
    if (attribute.getName() != kNumber)
      return success();
    for (llvm::Instruction *instruction : instructions) {
      if (failed(tile::checkInstruction(op, *instruction)))
        return failure();
      auto *call = dyn_cast<llvm::CallBase>(instruction);
      if (!call || !call->isInlineAsm())
        continue;
      // What LLVM's diagnostics of inline assembly carry.
      llvm::LLVMContext &context = call->getContext();
      auto *number = llvm::ConstantInt::get(
          llvm::Type::getInt64Ty(context),
          cast<IntegerAttr>(attribute.getValue()).getInt());
      call->setMetadata(
          "srcloc",
          llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(number)));
    }
    return success();
  }
};

/// Gives LLVM's diagnostics the places of the ops that they are about. By
/// itself LLVM prints them, and ends the process after an error.
class Handler final : public llvm::DiagnosticHandler {
public:
  Handler(Location fallback, ArrayRef<Location> places, bool &hasFailed)
      : fallback(fallback), places(places), hasFailed(hasFailed) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    Location place = fallback;
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (auto *assembly = dyn_cast<llvm::DiagnosticInfoInlineAsm>(&info)) {
      // 0 is that of an instruction without a number.
      if (uint64_t number = assembly->getLocCookie();
          number && number <= places.size())
        place = places[number - 1];
      stream << "inline assembly: " << assembly->getMsgStr();
    } else {
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    if (info.getSeverity() == llvm::DS_Error) {
      emitError(place) << text;
      hasFailed = true;
    } else if (info.getSeverity() == llvm::DS_Warning) {
      emitWarning(place) << text;
    }
    return true;
  }

private:
  Location fallback;
  ArrayRef<Location> places;
  bool &hasFailed;
};

/// Upstream's errors say no more than that something went wrong, without a
/// place: after another one they are left out.
class FirstErrors : public ScopedDiagnosticHandler {
public:
  explicit FirstErrors(MLIRContext *context)
      : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      bool isFirst = !hasFailed;
      hasFailed = true;
      return success(!isFirst);
    });
  }
  bool hasFailed = false;
};

struct EmbedKernels : tile::impl::TileEmbedKernelsBase<EmbedKernels> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<tile::TileDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
    registry.addExtension(+[](MLIRContext *, tile::TileDialect *dialect) {
      if (!dialect->getRegisteredInterface<LLVMTranslationDialectInterface>())
        dialect->addInterfaces<Numbers>();
    });
  }

  void runOnOperation() override {
    ModuleOp root = getOperation();
    places.clear();
    hasFailed = false;
    std::optional<gpu::CompilationTarget> target = compilationTarget();
    if (!target) {
      root.emitError("format must be one of isa, bin, fatbin, offload, got '")
          << format << "'";
      return signalPassFailure();
    }
    if (failed(checkAssembly(root)))
      return signalPassFailure();
    number(root);
    FirstErrors errors(&getContext());
    auto begin = [&](llvm::Module &module) {
      if (!lineInfo)
        llvm::StripDebugInfo(module);
      module.getContext().setDiagnosticHandler(
          std::make_unique<Handler>(root.getLoc(), places, hasFailed));
    };
    gpu::TargetOptions options(toolkit, /*librariesToLink=*/{},
                               /*cmdOptions=*/{}, /*elfSection=*/{}, *target,
                               /*getSymbolTableCallback=*/{}, begin);
    if (failed(gpu::transformGpuModulesToBinaries(root, nullptr, options)) ||
        hasFailed)
      return signalPassFailure();
    dropTimes(root);
  }

private:
  std::optional<gpu::CompilationTarget> compilationTarget() const {
    return llvm::StringSwitch<std::optional<gpu::CompilationTarget>>(format)
        .Case("isa", gpu::CompilationTarget::Assembly)
        .Case("bin", gpu::CompilationTarget::Binary)
        .Case("fatbin", gpu::CompilationTarget::Fatbin)
        .Case("offload", gpu::CompilationTarget::Offload)
        .Default(std::nullopt);
  }

  static LogicalResult checkAssembly(ModuleOp root) {
    WalkResult result = root.walk([](LLVM::InlineAsmOp op) -> WalkResult {
      return tile::checkInlineAssembly(op);
    });
    return failure(result.wasInterrupted());
  }

  void number(ModuleOp root) {
    auto type = IntegerType::get(&getContext(), 64);
    root.walk([&](gpu::GPUModuleOp module) {
      module.walk([&](Operation *op) {
        if (!tile::mayNeedTarget(op))
          return;
        places.push_back(op->getLoc());
        op->setAttr(kNumber, IntegerAttr::get(type, places.size()));
      });
    });
  }

  /// Upstream writes down how long it took, which is another time every time.
  static void dropTimes(ModuleOp root) {
    root.walk([](gpu::BinaryOp binary) {
      SmallVector<Attribute> objects;
      for (Attribute each : binary.getObjects()) {
        auto object = dyn_cast<gpu::ObjectAttr>(each);
        if (!object || !object.getProperties()) {
          objects.push_back(each);
          continue;
        }
        NamedAttrList properties(object.getProperties());
        properties.erase("LLVMIRToISATimeInMs");
        properties.erase("ISAToBinaryTimeInMs");
        objects.push_back(gpu::ObjectAttr::get(
            object.getContext(), object.getTarget(), object.getFormat(),
            object.getObject(), properties.getDictionary(object.getContext()),
            object.getKernels()));
      }
      binary.setObjectsAttr(ArrayAttr::get(binary.getContext(), objects));
    });
  }

  SmallVector<Location> places;
  bool hasFailed = false;
};
} // namespace
