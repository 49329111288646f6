// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives every workgroup buffer of a kernel its bytes and its place: static
// shared memory as far as that can be launched, else the front of dynamic
// shared memory, with the program's own dynamic memory behind it. Upstream's
// lowering of gpu.dynamic_shared_memory makes a static array of no length,
// which lies over the buffers, and that of strided attributions allocates
// elements instead of the span.
#include "lib/Transforms/Passes.h"

#include "lib/Analysis/Tile.h"

#include "dialect/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace tile {
#define GEN_PASS_DEF_TILEPLACESHAREDMEMORY
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// What a kernel may declare statically; PTX assemblers reject more.
static constexpr int64_t kMaxStaticBytes = 48 * 1024;
/// What a CTA of sm_90 may have in all; chips that have less refuse the launch.
static constexpr int64_t kMaxSharedBytes = 227 * 1024;
/// `cp.async.bulk` and 16-byte vector accesses want it.
static constexpr int64_t kMinAlignment = 16;
/// The program may view dynamic memory as anything, so it starts on a line.
static constexpr int64_t kDynamicAlignment = 128;
/// A CTA's shared memory begins behind 1024 bytes that the hardware keeps.
static constexpr int64_t kMaxAlignment = 1024;
/// Stands for every size that is too large to matter, and can still be added
/// up.
static constexpr int64_t kHugeBytes = int64_t(1) << 48;

static constexpr llvm::StringLiteral kFrontAttrName =
    "tile.dynamic_shared_memory_front";
static constexpr llvm::StringLiteral kDynamicName = "__dynamic_shared_memory";

namespace {

/// A buffer of static size, as one kernel sees it.
struct Buffer {
  /// Either an attribution of the kernel, or a `memref.global`; neither where
  /// others declare it.
  BlockArgument attribution;
  memref::GlobalOp global;
  int64_t bytes = 0;
  int64_t alignment = kMinAlignment;
  /// Where in dynamic memory it was moved to.
  std::optional<int64_t> frontOffset;

  bool canMove() const { return attribution || global; }
};

struct Kernel {
  gpu::GPUFuncOp func;
  SmallVector<Buffer> buffers;
  SmallVector<gpu::LaunchFuncOp> launches;
  /// Whether it, or a device function that it may call, has a
  /// gpu.dynamic_shared_memory.
  bool usesDynamic = false;
  /// The largest constant size of dynamic memory that a launch asks for.
  int64_t dynamicBytes = 0;
  /// Bytes in front of the program's own dynamic memory, which moved buffers
  /// take.
  int64_t frontBytes = 0;
};

/// Static and dynamic shared memory in bytes.
struct Need {
  int64_t staticBytes = 0;
  int64_t dynamicBytes = 0;
  int64_t total() const { return staticBytes + dynamicBytes; }
};

} // namespace

static int64_t integerAttr(Attribute attr, int64_t otherwise) {
  auto number = dyn_cast_or_null<IntegerAttr>(attr);
  return number ? number.getInt() : otherwise;
}

static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflowed = llvm::MulOverflow(a, b, result);
  return overflowed ? kHugeBytes : std::min(result, kHugeBytes);
}

static bool hasKnownSize(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return hasKnownSize(complex.getElementType());
  if (auto vector = dyn_cast<VectorType>(type))
    return !vector.isScalable() && hasKnownSize(vector.getElementType());
  return type.isIntOrIndexOrFloat() || isa<DataLayoutTypeInterface>(type);
}

/// Bytes from one element to the next in an array of LLVM's.
static int64_t arrayStep(Operation *op, Type type) {
  DataLayout layout = DataLayout::closest(op);
  return llvm::alignTo(layout.getTypeSize(type).getFixedValue(),
                       layout.getTypeABIAlignment(type));
}

/// Elements from the buffer's start to the end of its last one; fails with an
/// error at `op`.
static FailureOr<int64_t> spannedElements(Operation *op, const Twine &subject,
                                          MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset))) {
    InFlightDiagnostic diag = op->emitOpError(subject)
                              << " must have strides, got " << type;
    diag.attachNote() << "give the buffer a strided layout";
    return diag;
  }
  if (!type.hasStaticShape() || ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic)) {
    InFlightDiagnostic diag = op->emitOpError(subject)
                              << " must have a static size, got " << type;
    diag.attachNote() << "give it static extents and strides, or view "
                         "gpu.dynamic_shared_memory";
    return diag;
  }
  if (!hasKnownSize(type.getElementType())) {
    InFlightDiagnostic diag = op->emitOpError(subject)
                              << " must have elements of a known size, got "
                              << type;
    diag.attachNote() << "use integers, floats or vectors of them";
    return diag;
  }
  int64_t last = offset;
  for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (extent == 0)
      return 0;
    if (extent > 1 && stride < 0) {
      InFlightDiagnostic diag =
          op->emitOpError(subject)
          << " must not reach before its start, got a stride of " << stride;
      diag.attachNote()
          << "declare a larger buffer and view it with memref.reinterpret_cast";
      return diag;
    }
    last = std::min(last + saturatingMul(extent - 1, stride), kHugeBytes);
  }
  return last + 1;
}

/// The alignment that `memref.assume_alignment` promises for the start of
/// `buffer`.
static int64_t assumedAlignment(Value buffer) {
  int64_t alignment = 1;
  for (Operation *user : buffer.getUsers()) {
    APInt shift;
    if (auto assume = dyn_cast<memref::AssumeAlignmentOp>(user))
      alignment = std::max<int64_t>(alignment, assume.getAlignment());
    if (isa<memref::AssumeAlignmentOp, memref::CastOp>(user)) {
      alignment = std::max(alignment, assumedAlignment(user->getResult(0)));
    } else if (auto view = dyn_cast<memref::ViewOp>(user);
               view &&
               matchPattern(view.getByteShift(), m_ConstantInt(&shift))) {
      int64_t promised = assumedAlignment(view);
      if (shift.getSExtValue() % promised == 0)
        alignment = std::max(alignment, promised);
    }
  }
  return alignment;
}

static LogicalResult checkAlignment(Operation *op, const Twine &subject,
                                    int64_t alignment) {
  if (alignment > 0 && llvm::isPowerOf2_64(alignment) &&
      alignment <= kMaxAlignment)
    return success();
  InFlightDiagnostic diag = op->emitOpError(subject)
                            << " must be aligned to a power of two of at most "
                            << kMaxAlignment << " bytes, got " << alignment;
  diag.attachNote() << "shared memory begins at a multiple of " << kMaxAlignment
                    << " bytes: ask for that, and round the address up";
  return diag;
}

/// Makes `flat`, which was a `type`, a row of `elements`, and its users use a
/// view as a `type` of it.
static void flatten(Value flat, MemRefType type, int64_t elements) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : flat.getUses())
    uses.push_back(&use);
  flat.setType(MemRefType::get({elements}, type.getElementType(), AffineMap(),
                               type.getMemorySpace()));
  OpBuilder builder(flat.getContext());
  builder.setInsertionPointAfterValue(flat);
  auto [strides, offset] = type.getStridesAndOffset();
  auto strided = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), offset, strides),
      type.getMemorySpace());
  Value view = memref::ReinterpretCastOp::create(
      builder, flat.getLoc(), strided, flat, offset, type.getShape(), strides);
  if (strided != type)
    view = memref::CastOp::create(builder, flat.getLoc(), type, view);
  for (OpOperand *use : uses)
    use->set(view);
}

/// Gives attribution `index` its bytes and alignment.
static FailureOr<Buffer> spanAttribution(gpu::GPUFuncOp func, unsigned index) {
  BlockArgument argument = func.getWorkgroupAttributions()[index];
  std::string subject = ("workgroup buffer " + Twine(index)).str();
  auto type = cast<MemRefType>(argument.getType());
  FailureOr<int64_t> elements = spannedElements(func, subject, type);
  if (failed(elements))
    return failure();
  StringRef attrName = LLVM::LLVMDialect::getAlignAttrName();
  Buffer buffer;
  buffer.attribution = argument;
  buffer.bytes =
      saturatingMul(*elements, arrayStep(func, type.getElementType()));
  buffer.alignment = std::max(
      {kMinAlignment, assumedAlignment(argument),
       integerAttr(func.getWorkgroupAttributionAttr(index, attrName), 1)});
  if (failed(checkAlignment(func, subject, buffer.alignment)))
    return failure();
  func.setWorkgroupAttributionAttr(
      index, attrName, Builder(func).getI64IntegerAttr(buffer.alignment));
  if (!type.getLayout().isIdentity())
    flatten(argument, type, *elements);
  return buffer;
}

/// Gives a global in workgroup memory its bytes and alignment, and makes it the
/// module's own.
static FailureOr<Buffer> spanGlobal(memref::GlobalOp global,
                                    ArrayRef<memref::GetGlobalOp> gets) {
  MemRefType type = global.getType();
  if (!global.isExternal() && !global.isUninitialized()) {
    InFlightDiagnostic diag = global.emitOpError(
        "in workgroup memory must be uninitialized, got an initial value");
    diag.attachNote() << "store the value in the kernel";
    return diag;
  }
  FailureOr<int64_t> elements =
      spannedElements(global, "in workgroup memory", type);
  if (failed(elements))
    return failure();
  Buffer buffer;
  buffer.global = global;
  buffer.bytes =
      saturatingMul(*elements, arrayStep(global, type.getElementType()));
  buffer.alignment =
      std::max<int64_t>(kMinAlignment, global.getAlignment().value_or(1));
  for (memref::GetGlobalOp get : gets)
    buffer.alignment = std::max(buffer.alignment, assumedAlignment(get));
  if (failed(checkAlignment(global, "in workgroup memory", buffer.alignment)))
    return failure();
  global.setAlignment(buffer.alignment);
  // A public one without a value would be declared, and nobody would define it.
  global.setPrivate();
  if (type.getLayout().isIdentity())
    return buffer;
  for (memref::GetGlobalOp get : gets)
    flatten(get, type, *elements);
  global.setType(MemRefType::get({*elements}, type.getElementType(),
                                 AffineMap(), type.getMemorySpace()));
  return buffer;
}

/// Static shared memory of the buffers that were not moved, in whatever order
/// they come to lie.
static int64_t staticBytes(ArrayRef<Buffer> buffers) {
  int64_t finest = kMaxAlignment;
  for (const Buffer &buffer : buffers)
    if (!buffer.frontOffset)
      finest = std::min(finest, buffer.alignment);
  int64_t sum = 0;
  int64_t leastSlack = kMaxAlignment;
  for (const Buffer &buffer : buffers) {
    if (buffer.frontOffset)
      continue;
    int64_t rounded = llvm::alignTo(buffer.bytes, finest);
    sum += rounded + buffer.alignment - finest;
    leastSlack = std::min(leastSlack, rounded - buffer.bytes);
  }
  // Behind the last one nothing is rounded up.
  return sum == 0 ? 0 : sum - leastSlack;
}

/// Lays out the moved buffers, the most aligned first, and returns where they
/// end.
static int64_t layOutFront(SmallVectorImpl<Buffer> &buffers) {
  SmallVector<Buffer *> moved;
  for (Buffer &buffer : buffers)
    if (buffer.frontOffset)
      moved.push_back(&buffer);
  llvm::stable_sort(moved, [](const Buffer *a, const Buffer *b) {
    return a->alignment > b->alignment;
  });
  int64_t end = 0;
  for (Buffer *buffer : moved) {
    buffer->frontOffset = llvm::alignTo(end, buffer->alignment);
    end = *buffer->frontOffset + buffer->bytes;
  }
  return end;
}

/// The largest buffer that can still be moved, the first one of equals.
static Buffer *largestMovable(SmallVectorImpl<Buffer> &buffers) {
  Buffer *largest = nullptr;
  for (Buffer &buffer : buffers)
    if (buffer.canMove() && !buffer.frontOffset &&
        (!largest || buffer.bytes > largest->bytes))
      largest = &buffer;
  return largest;
}

namespace {

/// Places the shared memory of one `gpu.module`.
class ModulePlacement {
public:
  ModulePlacement(
      gpu::GPUModuleOp module,
      const DenseMap<Operation *, SmallVector<gpu::LaunchFuncOp>> &launches)
      : module(module), launches(launches) {}

  LogicalResult run() {
    if (failed(collectGlobals()) || failed(collectFunctions()) ||
        failed(collectDynamic()) || failed(plan()))
      return failure();
    rewrite();
    return success();
  }

private:
  LogicalResult collectGlobals();
  LogicalResult collectFunctions();
  LogicalResult collectDynamic();
  LogicalResult plan();
  LogicalResult plan(Kernel &kernel);
  Need needOf(Kernel &kernel);
  LogicalResult refuse(Kernel &kernel, Need need);
  void rewrite();
  void rewrite(Kernel &kernel);
  void rewriteDynamic(gpu::DynamicSharedMemoryOp op, int64_t frontBytes);
  Value viewOfDynamic(OpBuilder &builder, Location loc, Operation *function,
                      MemRefType type, int64_t start);
  Value baseOfDynamic(Operation *function, Attribute memorySpace);

  gpu::GPUModuleOp module;
  const DenseMap<Operation *, SmallVector<gpu::LaunchFuncOp>> &launches;
  SmallVector<Kernel> kernels;
  /// What no kernel can move, because a device function or a hand-written
  /// global declares it.
  SmallVector<Buffer> pinned;
  llvm::MapVector<Operation *, Buffer> globals;
  DenseMap<Operation *, SmallVector<memref::GetGlobalOp>> gets;
  SmallVector<gpu::DynamicSharedMemoryOp> dynamicOps;
  /// An `extern` array that the program itself declares.
  Operation *handWritten = nullptr;
  bool deviceFunctionUsesDynamic = false;
  int64_t dynamicAlignment = kDynamicAlignment;
  memref::GlobalOp dynamicGlobal;
  DenseMap<std::pair<Operation *, Attribute>, Value> bases;
};

} // namespace

/// The kernel or device function that `op` stands in.
static Operation *functionAround(Operation *op) {
  return op->getParentOfType<FunctionOpInterface>();
}

static gpu::GPUFuncOp kernelAround(Operation *op) {
  auto func = dyn_cast_or_null<gpu::GPUFuncOp>(functionAround(op));
  return func && func.isKernel() ? func : gpu::GPUFuncOp();
}

LogicalResult ModulePlacement::collectGlobals() {
  SymbolTable symbols(module);
  module.walk([&](memref::GetGlobalOp get) {
    if (Operation *global = symbols.lookup(get.getName()))
      gets[global].push_back(get);
  });
  for (auto global : module.getOps<memref::GlobalOp>()) {
    if (!isWorkgroupMemory(global.getType().getMemorySpace()))
      continue;
    if (global.isExternal() &&
        llvm::is_contained(global.getType().getShape(), 0)) {
      handWritten = global;
      continue;
    }
    FailureOr<Buffer> buffer = spanGlobal(global, gets[global]);
    if (failed(buffer))
      return failure();
    globals.insert({global, *buffer});
  }
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (global.getAddrSpace() != 3)
      continue;
    auto array = dyn_cast<LLVM::LLVMArrayType>(global.getType());
    if (array && array.getNumElements() == 0) {
      handWritten = global;
      continue;
    }
    Buffer buffer;
    buffer.bytes = arrayStep(global, global.getType());
    buffer.alignment = std::max<int64_t>(
        global.getAlignment().value_or(1),
        DataLayout::closest(global).getTypeABIAlignment(global.getType()));
    pinned.push_back(buffer);
  }
  return success();
}

LogicalResult ModulePlacement::collectFunctions() {
  for (auto func : module.getOps<gpu::GPUFuncOp>()) {
    SmallVector<Buffer> own;
    for (unsigned index = 0; index < func.getNumWorkgroupAttributions();
         ++index) {
      FailureOr<Buffer> buffer = spanAttribution(func, index);
      if (failed(buffer))
        return failure();
      own.push_back(*buffer);
    }
    if (func.isKernel()) {
      kernels.emplace_back();
      kernels.back().func = func;
      kernels.back().buffers = std::move(own);
      continue;
    }
    for (Buffer &buffer : own)
      buffer.attribution = {};
    pinned.append(own);
  }
  for (auto &[global, buffer] : globals) {
    llvm::SmallPtrSet<Operation *, 4> users;
    for (memref::GetGlobalOp get : gets[global])
      users.insert(kernelAround(get));
    if (users.contains(nullptr)) {
      pinned.push_back(buffer);
      pinned.back().global = {};
      continue;
    }
    for (Kernel &kernel : kernels)
      if (users.contains(kernel.func))
        kernel.buffers.push_back(buffer);
  }
  for (Kernel &kernel : kernels) {
    kernel.buffers.append(pinned);
    auto found = launches.find(kernel.func);
    if (found == launches.end())
      continue;
    kernel.launches = found->second;
    for (gpu::LaunchFuncOp launch : kernel.launches) {
      APInt bytes;
      if (Value size = launch.getDynamicSharedMemorySize();
          size && matchPattern(size, m_ConstantInt(&bytes)))
        kernel.dynamicBytes =
            std::max(kernel.dynamicBytes, bytes.getSExtValue());
    }
  }
  return success();
}

LogicalResult ModulePlacement::collectDynamic() {
  module.walk([&](gpu::DynamicSharedMemoryOp op) { dynamicOps.push_back(op); });
  for (gpu::DynamicSharedMemoryOp op : dynamicOps) {
    int64_t alignment = std::max(
        integerAttr(op->getAttr(kAlignmentAttrName), 1), assumedAlignment(op));
    if (failed(checkAlignment(op, "memory", alignment)))
      return failure();
    dynamicAlignment = std::max(dynamicAlignment, alignment);
    deviceFunctionUsesDynamic |= !kernelAround(op);
    for (Kernel &kernel : kernels)
      kernel.usesDynamic |= kernel.func == functionAround(op);
  }
  for (Kernel &kernel : kernels)
    kernel.usesDynamic |= deviceFunctionUsesDynamic;
  return success();
}

Need ModulePlacement::needOf(Kernel &kernel) {
  kernel.frontBytes = layOutFront(kernel.buffers);
  bool hasDynamic = kernel.usesDynamic || kernel.dynamicBytes != 0;
  if (kernel.frontBytes)
    kernel.frontBytes = llvm::alignTo(
        kernel.frontBytes, hasDynamic ? dynamicAlignment : kMinAlignment);
  Need need;
  need.staticBytes = staticBytes(kernel.buffers);
  need.dynamicBytes = kernel.frontBytes + kernel.dynamicBytes;
  // The assembler puts dynamic memory behind the static buffers, at its
  // alignment.
  if (need.dynamicBytes)
    need.staticBytes = llvm::alignTo(need.staticBytes, dynamicAlignment);
  return need;
}

LogicalResult ModulePlacement::refuse(Kernel &kernel, Need need) {
  if (need.total() > kMaxSharedBytes) {
    InFlightDiagnostic diag =
        kernel.func.emitOpError("shared memory must be at most ")
        << kMaxSharedBytes << " bytes, got " << need.total() << ": "
        << need.total() - kernel.dynamicBytes << " of buffers and "
        << kernel.dynamicBytes << " of dynamic memory";
    diag.attachNote() << "make the buffers, or the dynamic_shared_memory_size "
                         "of the launch, smaller "
                         "by "
                      << need.total() - kMaxSharedBytes << " bytes";
    return diag;
  }
  InFlightDiagnostic diag =
      kernel.func.emitOpError(
          "static shared memory of device functions must be at most ")
      << kMaxStaticBytes << " bytes, got " << need.staticBytes;
  diag.attachNote()
      << "declare the buffers in the kernel and hand them to the functions";
  return diag;
}

LogicalResult ModulePlacement::plan(Kernel &kernel) {
  while (true) {
    Need need = needOf(kernel);
    if (staticBytes(kernel.buffers) <= kMaxStaticBytes &&
        need.total() <= kMaxSharedBytes)
      return success();
    Buffer *largest = largestMovable(kernel.buffers);
    if (!largest)
      return refuse(kernel, need);
    if (handWritten) {
      InFlightDiagnostic diag =
          kernel.func.emitOpError("static shared memory must be at most ")
          << kMaxStaticBytes << " bytes, got " << staticBytes(kernel.buffers)
          << ", and the module declares dynamic memory by hand";
      diag.attachNote(handWritten->getLoc())
          << "use gpu.dynamic_shared_memory instead of this";
      return diag;
    }
    largest->frontOffset = 0;
    dynamicAlignment = std::max(dynamicAlignment, largest->alignment);
  }
}

LogicalResult ModulePlacement::plan() {
  // Moving a buffer may raise the alignment of dynamic memory for the kernels
  // planned before.
  for (int64_t planned = 0; planned != dynamicAlignment;) {
    planned = dynamicAlignment;
    for (Kernel &kernel : kernels)
      if (failed(plan(kernel)))
        return failure();
  }
  if (!deviceFunctionUsesDynamic)
    return success();
  // A device function finds the program's dynamic memory at one place, whoever
  // calls it.
  int64_t front = 0;
  for (const Kernel &kernel : kernels)
    front = std::max(front, kernel.frontBytes);
  for (Kernel &kernel : kernels) {
    Need need = needOf(kernel);
    need.dynamicBytes += front - kernel.frontBytes;
    kernel.frontBytes = front;
    if (need.total() > kMaxSharedBytes)
      return refuse(kernel, need);
  }
  return success();
}

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
  for (Kernel &kernel : kernels)
    rewrite(kernel);
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

namespace {
struct PlaceSharedMemory
    : tile::impl::TilePlaceSharedMemoryBase<PlaceSharedMemory> {
  void runOnOperation() override {
    ModuleOp root = getOperation();
    DenseMap<Operation *, SmallVector<gpu::LaunchFuncOp>> launches;
    WalkResult walked = root.walk([&](Operation *op) {
      if (isa<gpu::LaunchOp>(op)) {
        InFlightDiagnostic diag = op->emitOpError(
            "must be outlined before its shared memory is placed");
        diag.attachNote() << "run gpu-kernel-outlining first";
        return WalkResult::interrupt();
      }
      if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
        if (Operation *kernel = SymbolTable::lookupNearestSymbolFrom(
                launch, launch.getKernelAttr()))
          launches[kernel].push_back(launch);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    SmallVector<gpu::GPUModuleOp> modules;
    root.walk([&](gpu::GPUModuleOp module) { modules.push_back(module); });
    for (gpu::GPUModuleOp module : modules)
      if (failed(ModulePlacement(module, launches).run()))
        return signalPassFailure();
  }
};
} // namespace
