// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <mutex>

using namespace mlir;

#include "dialect/TileDialect.cpp.inc"
#include "dialect/TileEnums.cpp.inc"

void tile::TileDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/TileOps.cpp.inc"
      >();
}

Operation *tile::TileDialect::materializeConstant(OpBuilder &builder,
                                                  Attribute value, Type type,
                                                  Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult tile::TileDialect::verifyRegionArgAttribute(
    Operation *op, unsigned, unsigned number, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto func = dyn_cast<gpu::GPUFuncOp>(op);
  auto type = func && func.isKernel() && number < func.getNumArguments()
                  ? dyn_cast<MemRefType>(func.getArgumentTypes()[number])
                  : MemRefType();
  if (name != kMultipleOfName && name != kOffsetMultipleOfName) {
    InFlightDiagnostic diag = op->emitOpError("argument ")
                              << number << " has the attribute '" << name
                              << "', which is not known";
    diag.attachNote() << "known are " << kMultipleOfName << " and "
                      << kOffsetMultipleOfName;
    return diag;
  }
  if (!type)
    return op->emitOpError("argument ")
           << number << " must be a memref of a kernel to have '" << name
           << "'";
  if (name == kOffsetMultipleOfName) {
    auto promised = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!promised || !promised.getType().isSignlessInteger(64) ||
        promised.getInt() < 1)
      return op->emitOpError("'") << name << "' must be a positive i64, got "
                                  << attribute.getValue();
    return success();
  }
  auto promised = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (!promised || promised.size() != type.getRank() ||
      llvm::any_of(promised.asArrayRef(), [](int64_t n) { return n < 1; }))
    return op->emitOpError("'")
           << name << "' must be array<i64: ...> of " << type.getRank()
           << " positive numbers, one for each stride, got "
           << attribute.getValue();
  return success();
}

LogicalResult
tile::TileDialect::verifyOperationAttribute(Operation *op,
                                            NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == tile::kInsertSyncName) {
    if (!isa<FunctionOpInterface, gpu::LaunchOp>(op))
      return op->emitOpError("must be a kernel or a gpu.launch to have '")
             << name << "'";
    auto words = dyn_cast<DictionaryAttr>(value);
    bool isKnown = words && llvm::all_of(words, [](NamedAttribute word) {
                     return word.getName() == tile::kWarFencesName &&
                            isa<BoolAttr>(word.getValue());
                   });
    if (!isa<UnitAttr>(value) && !isKnown)
      return op->emitOpError("'")
             << name << "' must be a unit attribute or {"
             << tile::kWarFencesName << " = false}, got " << value;
    return success();
  }
  if (name == "tile.alignment" || name == "tile.dynamic_shared_memory_front") {
    if (!isa<IntegerAttr>(value))
      return op->emitOpError("'")
             << name << "' must be a number of bytes, got " << value;
    return success();
  }
  if (name == "tile.kernels" || name == "tile.shared_names")
    return success();
  InFlightDiagnostic diag = op->emitOpError("has the attribute '")
                            << name << "', which is not known";
  diag.attachNote()
      << "known are tile.insert_sync, tile.alignment, "
         "tile.dynamic_shared_memory_front, tile.shared_names and "
         "tile.kernels";
  return diag;
}

namespace {
struct KnownVariants {
  std::mutex mutex;
  std::vector<tile::VariantTraits> all;
};
} // namespace

static KnownVariants &knownVariants() {
  static KnownVariants variants;
  return variants;
}

std::vector<std::string> tile::getVariantNames() {
  std::lock_guard lock(knownVariants().mutex);
  std::vector<std::string> names;
  for (const tile::VariantTraits &known : knownVariants().all)
    names.push_back(known.name);
  return names;
}

std::optional<tile::VariantTraits> tile::findVariant(StringRef name) {
  std::lock_guard lock(knownVariants().mutex);
  for (const tile::VariantTraits &known : knownVariants().all)
    if (known.name == name)
      return known;
  return std::nullopt;
}

void tile::registerVariantTraits(tile::VariantTraits traits) {
  std::lock_guard lock(knownVariants().mutex);
  for (tile::VariantTraits &known : knownVariants().all)
    if (known.name == traits.name) {
      known = std::move(traits);
      return;
    }
  knownVariants().all.push_back(std::move(traits));
}

bool tile::isWorkgroupMemory(Attribute memorySpace) {
  if (auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == gpu::AddressSpace::Workgroup;
  if (auto number = dyn_cast_or_null<IntegerAttr>(memorySpace))
    return number.getValue() ==
           static_cast<uint64_t>(NVVM::NVVMMemorySpace::Shared);
  return false;
}

bool tile::isGlobalMemory(Attribute memorySpace) {
  if (!memorySpace)
    return true;
  if (auto space = dyn_cast<gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == gpu::AddressSpace::Global;
  auto number = dyn_cast<IntegerAttr>(memorySpace);
  return number && (number.getValue() == 0 ||
                    number.getValue() ==
                        static_cast<uint64_t>(NVVM::NVVMMemorySpace::Global));
}

bool tile::isClusterMemory(Attribute memorySpace) {
  auto number = dyn_cast_or_null<IntegerAttr>(memorySpace);
  return number && number.getValue() == uint64_t(kClusterMemorySpace);
}
