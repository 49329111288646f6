// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

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

namespace {
struct VariantNames {
  std::mutex mutex;
  std::vector<std::string> names{"bulk", "st_async"};
};
} // namespace

static VariantNames &variantNames() {
  static VariantNames names;
  return names;
}

std::vector<std::string> tile::getVariantNames() {
  std::lock_guard lock(variantNames().mutex);
  return variantNames().names;
}

void tile::registerVariantName(StringRef name) {
  std::lock_guard lock(variantNames().mutex);
  if (!llvm::is_contained(variantNames().names, name))
    variantNames().names.push_back(name.str());
}

bool tile::isWorkgroupMemory(Attribute memorySpace) {
  if (auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(memorySpace))
    return space.getValue() == gpu::AddressSpace::Workgroup;
  if (auto number = dyn_cast_or_null<IntegerAttr>(memorySpace))
    return number.getInt() ==
           static_cast<int64_t>(NVVM::NVVMMemorySpace::Shared);
  return false;
}
