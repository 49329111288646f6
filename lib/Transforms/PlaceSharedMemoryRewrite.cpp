// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the plan into the module: moved buffers become views of dynamic
// memory.
#include "lib/Transforms/PlaceSharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tile;
using namespace tile::placement;

static constexpr llvm::StringLiteral kFrontAttrName =
    "tile.dynamic_shared_memory_front";
static constexpr llvm::StringLiteral kNamesAttrName = "tile.shared_names";
static constexpr llvm::StringLiteral kDynamicName = "__dynamic_shared_memory";

Value ModulePlacement::baseOfDynamic(Operation *function,
                                     Attribute memorySpace) {
  Value &base = bases[{function, memorySpace}];
  if (base)
    return base;
  OpBuilder builder(module.getContext());
  auto type =
      MemRefType::get({0}, builder.getI8Type(), AffineMap(),
                      gpu::AddressSpaceAttr::get(module.getContext(),
                                                 gpu::AddressSpace::Workgroup));
  if (!dynamicGlobal) {
    builder.setInsertionPointToStart(module.getBody());
    // Public and without a value: an external array, which PTX takes for
    // dynamic memory.
    dynamicGlobal = memref::GlobalOp::create(
        builder, module.getLoc(), kDynamicName, /*sym_visibility=*/StringAttr(),
        type,
        /*initial_value=*/Attribute(), /*constant=*/false,
        builder.getI64IntegerAttr(dynamicAlignment));
    SymbolTable(module).insert(dynamicGlobal);
  }
  builder.setInsertionPointToStart(&function->getRegion(0).front());
  Location loc = function->getLoc();
  base = memref::GetGlobalOp::create(builder, loc, type,
                                     dynamicGlobal.getSymName());
  auto wanted =
      MemRefType::get({0}, builder.getI8Type(), AffineMap(), memorySpace);
  if (wanted != type)
    base = memref::MemorySpaceCastOp::create(builder, loc, wanted, base);
  return base;
}

/// Views the bytes from `start` on as the `type` of a buffer.
Value ModulePlacement::viewOfDynamic(OpBuilder &builder, Location loc,
                                     Operation *function, MemRefType type,
                                     int64_t start) {
  Value base = baseOfDynamic(function, type.getMemorySpace());
  Value shift = arith::ConstantIndexOp::create(builder, loc, start);
  return memref::ViewOp::create(builder, loc, type, base, shift, ValueRange());
}

static void eraseAttribution(gpu::GPUFuncOp func, BlockArgument argument) {
  unsigned index =
      argument.getArgNumber() - func.getFirstWorkgroupAttributionIndex();
  if (ArrayAttr attrs = func.getWorkgroupAttribAttrsAttr()) {
    SmallVector<Attribute> left(attrs.getValue());
    if (index < left.size())
      left.erase(left.begin() + index);
    func.setWorkgroupAttribAttrsAttr(Builder(func).getArrayAttr(left));
  }
  unsigned count = func.getNumWorkgroupAttributions();
  func.getBody().front().eraseArgument(argument.getArgNumber());
  func->setAttr(gpu::GPUFuncOp::getNumWorkgroupAttributionsAttrName(),
                Builder(func).getI64IntegerAttr(count - 1));
}

void ModulePlacement::rewrite(Kernel &kernel) {
  for (Buffer &buffer : kernel.buffers) {
    if (!buffer.frontOffset)
      continue;
    if (buffer.attribution) {
      auto type = cast<MemRefType>(buffer.attribution.getType());
      baseOfDynamic(kernel.func, type.getMemorySpace());
      OpBuilder builder(kernel.func.getContext());
      builder.setInsertionPointAfterValue(
          bases[{kernel.func, type.getMemorySpace()}]);
      Value view = viewOfDynamic(builder, buffer.attribution.getLoc(),
                                 kernel.func, type, *buffer.frontOffset);
      buffer.attribution.replaceAllUsesWith(view);
      continue;
    }
    for (memref::GetGlobalOp get : gets[buffer.global]) {
      if (kernelAround(get) != kernel.func)
        continue;
      OpBuilder builder(get);
      get.replaceAllUsesWith(viewOfDynamic(builder, get.getLoc(), kernel.func,
                                           get.getType(), *buffer.frontOffset));
    }
  }
  for (const Buffer &buffer : kernel.buffers)
    if (buffer.frontOffset && buffer.attribution)
      eraseAttribution(kernel.func, buffer.attribution);
  if (!kernel.frontBytes)
    return;
  Builder builder(kernel.func);
  kernel.func->setAttr(kFrontAttrName,
                       builder.getI64IntegerAttr(kernel.frontBytes));
  for (gpu::LaunchFuncOp launch : kernel.launches) {
    OpBuilder builder(launch);
    Value bytes = arith::ConstantIntOp::create(builder, launch.getLoc(),
                                               kernel.frontBytes, 32);
    if (Value own = launch.getDynamicSharedMemorySize())
      bytes = builder.createOrFold<arith::AddIOp>(launch.getLoc(), own, bytes);
    launch.getDynamicSharedMemorySizeMutable().assign(bytes);
  }
}

/// Where elements lie, in bytes, where that is one step for each dimension.
static void addSteps(NamedAttrList &entry, MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  Type element = type.getElementType();
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0 ||
      !element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return;
  for (int64_t &stride : strides)
    stride *= element.getIntOrFloatBitWidth() / 8;
  Builder builder(type.getContext());
  entry.set("extents", builder.getDenseI64ArrayAttr(type.getShape()));
  entry.set("steps", builder.getDenseI64ArrayAttr(strides));
}

/// Tells under which symbol and offset of the PTX each buffer that has a name
/// is found.
void ModulePlacement::nameBuffers(Kernel &kernel) {
  Builder builder(kernel.func);
  SmallVector<Attribute> names;
  unsigned attributions = 0;
  for (Buffer &buffer : kernel.buffers) {
    // Upstream's lowering numbers the attributions that are left.
    std::string symbol = kDynamicName.str();
    if (!buffer.frontOffset && buffer.attribution)
      symbol =
          llvm::formatv("__wg_{0}_{1}", kernel.func.getName(), attributions++);
    else if (!buffer.frontOffset && buffer.global)
      symbol = buffer.global.getSymName().str();
    if (!buffer.name)
      continue;
    NamedAttrList entry;
    entry.set("name", buffer.name);
    entry.set("symbol", builder.getStringAttr(symbol));
    entry.set("offset",
              builder.getI64IntegerAttr(buffer.frontOffset.value_or(0)));
    entry.set("bytes", builder.getI64IntegerAttr(buffer.bytes));
    addSteps(entry, buffer.type);
    names.push_back(entry.getDictionary(builder.getContext()));
  }
  kernel.func->removeAttr(kNamesAttrName);
  if (!names.empty())
    kernel.func->setAttr(kNamesAttrName, builder.getArrayAttr(names));
}

/// Replaces `op` by the dynamic memory behind `frontBytes`.
void ModulePlacement::rewriteDynamic(gpu::DynamicSharedMemoryOp op,
                                     int64_t frontBytes) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  MemRefType type = op.getType();
  Value base = baseOfDynamic(functionAround(op), type.getMemorySpace());
  Value front = arith::ConstantIndexOp::create(builder, loc, frontBytes);
  // Views of it, which are nearly all of its users, do not ask how much there
  // is.
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    auto view = dyn_cast<memref::ViewOp>(user);
    if (!view)
      continue;
    builder.setInsertionPoint(view);
    Value shift = builder.createOrFold<arith::AddIOp>(
        view.getLoc(), view.getByteShift(), front);
    view.getSourceMutable().assign(base);
    view.getByteShiftMutable().assign(shift);
  }
  if (!op.use_empty()) {
    builder.setInsertionPoint(op);
    // What the launch asked for, less what the buffers in front take of it.
    auto given = LLVM::CallIntrinsicOp::create(
        builder, loc, builder.getI32Type(),
        builder.getStringAttr("llvm.nvvm.read.ptx.sreg.dynamic_smem_size"),
        ValueRange());
    Value bytes = arith::IndexCastUIOp::create(
        builder, loc, builder.getIndexType(), given.getResult(0));
    bytes = builder.createOrFold<arith::SubIOp>(loc, bytes, front);
    op.replaceAllUsesWith(
        memref::ViewOp::create(builder, loc, type, base, front, bytes)
            .getResult());
  }
  op.erase();
}

void ModulePlacement::rewrite() {
  for (Kernel &kernel : kernels) {
    nameBuffers(kernel);
    rewrite(kernel);
  }
  for (gpu::DynamicSharedMemoryOp op : dynamicOps) {
    int64_t frontBytes = deviceFunctionUsesDynamic && !kernels.empty()
                             ? kernels[0].frontBytes
                             : 0;
    for (const Kernel &kernel : kernels)
      if (kernel.func == functionAround(op))
        frontBytes = kernel.frontBytes;
    rewriteDynamic(op, frontBytes);
  }
  for (auto &[global, buffer] : globals) {
    for (memref::GetGlobalOp get : gets[global])
      if (get.use_empty())
        get.erase();
    if (SymbolTable::symbolKnownUseEmpty(global, module))
      global->erase();
  }
}
