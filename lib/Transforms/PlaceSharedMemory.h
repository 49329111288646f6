// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of tile-place-shared-memory share: what declarations span, how
// their places are planned, and how that is written into the module.
#ifndef TILE_TRANSFORMS_PLACE_SHARED_MEMORY_H
#define TILE_TRANSFORMS_PLACE_SHARED_MEMORY_H

#include "dialect/TileDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace tile::placement {

/// `cp.async.bulk` and 16-byte vector accesses want it.
constexpr int64_t kMinAlignment = 16;
/// The program may view dynamic memory as anything, so it starts on a line.
constexpr int64_t kDynamicAlignment = 128;
/// A CTA's shared memory begins behind 1024 bytes that the hardware keeps.
constexpr int64_t kMaxAlignment = 1024;

/// A buffer of static size, as one kernel sees it.
struct Buffer {
  /// Either an attribution of the kernel, or a `memref.global`; neither where
  /// others declare it.
  mlir::BlockArgument attribution;
  mlir::memref::GlobalOp global;
  int64_t bytes = 0;
  int64_t alignment = kMinAlignment;
  /// What its declaration is called, and its type there; null where no location
  /// says it.
  mlir::StringAttr name;
  mlir::MemRefType type;
  /// Where in dynamic memory it was moved to.
  std::optional<int64_t> frontOffset;

  bool canMove() const { return attribution || global; }
};

struct Kernel {
  mlir::gpu::GPUFuncOp func;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<mlir::gpu::LaunchFuncOp> launches;
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

/// Gives attribution `index` its bytes and alignment; fails with an error.
mlir::FailureOr<Buffer> spanAttribution(mlir::gpu::GPUFuncOp func,
                                        unsigned index);

/// Gives a global in workgroup memory its bytes and alignment, and makes it the
/// module's own; fails with an error.
mlir::FailureOr<Buffer>
spanGlobal(mlir::memref::GlobalOp global,
           llvm::ArrayRef<mlir::memref::GetGlobalOp> gets);

/// Gives a global of LLVM's, which stays where it is, its bytes and alignment.
Buffer spanGlobal(mlir::LLVM::GlobalOp global);

/// The alignment that `op`'s attribute and `memref.assume_alignment` ask for;
/// fails with an error.
mlir::FailureOr<int64_t> alignmentOf(mlir::gpu::DynamicSharedMemoryOp op);

/// The kernel or device function that `op` stands in.
mlir::Operation *functionAround(mlir::Operation *op);
/// The kernel that `op` stands in; null elsewhere.
mlir::gpu::GPUFuncOp kernelAround(mlir::Operation *op);

/// Places the shared memory of one `gpu.module`.
class ModulePlacement {
public:
  ModulePlacement(
      mlir::gpu::GPUModuleOp module,
      const llvm::DenseMap<mlir::Operation *,
                           llvm::SmallVector<mlir::gpu::LaunchFuncOp>>
          &launches)
      : module(module), launches(launches) {}

  mlir::LogicalResult run();

private:
  mlir::LogicalResult collectGlobals();
  mlir::LogicalResult collectFunctions();
  mlir::LogicalResult collectDynamic();
  mlir::LogicalResult plan();
  mlir::LogicalResult plan(Kernel &kernel);
  Need needOf(Kernel &kernel);
  mlir::LogicalResult refuse(Kernel &kernel, Need need);
  void rewrite();
  void rewrite(Kernel &kernel);
  void nameBuffers(Kernel &kernel);
  void rewriteDynamic(mlir::gpu::DynamicSharedMemoryOp op, int64_t frontBytes);
  mlir::Value viewOfDynamic(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Operation *function, mlir::MemRefType type,
                            int64_t start);
  mlir::Value baseOfDynamic(mlir::Operation *function,
                            mlir::Attribute memorySpace);

  mlir::gpu::GPUModuleOp module;
  const llvm::DenseMap<mlir::Operation *,
                       llvm::SmallVector<mlir::gpu::LaunchFuncOp>> &launches;
  llvm::SmallVector<Kernel> kernels;
  /// What no kernel can move, because a device function or a hand-written
  /// global declares it.
  llvm::SmallVector<Buffer> pinned;
  llvm::MapVector<mlir::Operation *, Buffer> globals;
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<mlir::memref::GetGlobalOp>>
      gets;
  llvm::SmallVector<mlir::gpu::DynamicSharedMemoryOp> dynamicOps;
  /// An `extern` array that the program itself declares.
  mlir::Operation *handWritten = nullptr;
  bool deviceFunctionUsesDynamic = false;
  int64_t dynamicAlignment = kDynamicAlignment;
  mlir::memref::GlobalOp dynamicGlobal;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Attribute>, mlir::Value>
      bases;
};

} // namespace tile::placement

#endif // TILE_TRANSFORMS_PLACE_SHARED_MEMORY_H
