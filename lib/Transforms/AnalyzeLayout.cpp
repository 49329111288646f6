// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

#include "dialect/TileDialect.h"
#include "lib/Facts/ValueFacts.h"
#include "lib/Plan/Bounds.h"
#include "lib/Plan/Choose.h"
#include "lib/Plan/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tile {
#define GEN_PASS_DEF_TILEANALYZELAYOUT
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// Refuses launches that break what the kernel says of itself, as far as both
/// are constants: copies of a warp or a CTA are planned by it.
static LogicalResult checkLaunch(gpu::LaunchFuncOp launch) {
  Operation *kernel =
      SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr());
  if (!kernel)
    return success();
  auto check = [&](StringRef name, gpu::KernelDim3 sizes) -> LogicalResult {
    auto known = knownExtents(kernel, name);
    if (!known)
      return success();
    const std::array<Value, 3> given{sizes.x, sizes.y, sizes.z};
    constexpr std::array<StringLiteral, 3> names{"x", "y", "z"};
    for (auto [dimension, value, extent] :
         llvm::zip_equal(names, given, *known)) {
      std::optional<int64_t> size = constantOf(value);
      if (!size || *size == extent)
        continue;
      InFlightDiagnostic diag = launch.emitOpError("must launch ");
      diag << launch.getKernelName() << " with the size that its " << name
           << " says, " << extent << " along " << dimension << ", got "
           << *size;
      diag.attachNote() << "change the launch or the attribute";
      return diag;
    }
    return success();
  };
  if (failed(check(kKnownBlockSize, launch.getBlockSizeOperandValues())))
    return failure();
  if (launch.hasClusterSize())
    return check(kKnownClusterSize, launch.getClusterSizeOperandValues());
  return success();
}

/// Does what `bounds` asks for where a tile is not proved to stay inside its
/// buffer.
static LogicalResult ensureInside(CopyAsyncOp op, const Answer &answer,
                                  Bounds bounds) {
  if (bounds == Bounds::Assume)
    return success();
  for (auto [side, memref, tile] :
       {std::tuple<StringRef, Value, const TracedTile &>("source", op.getSrc(),
                                                         *answer.src),
        {"destination", op.getDst(), *answer.dst}}) {
    if (isProvedInside(memref, tile))
      continue;
    OpBuilder builder(op);
    if (bounds == Bounds::Check &&
        buildBoundsCheck(builder, op.getLoc(), side, memref, tile))
      continue;
    InFlightDiagnostic diag = op.emitOpError(side);
    diag << (bounds == Bounds::Check
                 ? " must have a buffer of known size to be checked, got "
                 : " must be proved to stay inside its buffer, got offset ");
    const Origin &origin = tile.origins.front();
    if (bounds != Bounds::Check)
      diag << tile.offset.known << " + "
           << (tile.offset.isStatic() ? runtimeExpression(origin.shiftBytes)
                                      : runtimeExpression(tile.offset));
    else if (tile.origins.size() > 1)
      diag << "one of " << tile.origins.size();
    else
      diag << origin.buffer.getType();
    bool isOpen = tile.isGlobal && !origin.bufferBytes;
    diag.attachNote()
        << (isOpen && bounds != Bounds::Check
                ? "only the run time knows the buffer's extents: choose "
                  "bounds=check or bounds=assume"
                : "bound the run-time offset by a loop, a remainder or a "
                  "known block size, or choose bounds=assume");
    return diag;
  }
  return success();
}

/// Whoever else launches the kernel has to keep to the size that a copy of many
/// threads was planned for.
static void promiseBlock(CopyAsyncOp op, const KernelSizes &sizes) {
  auto func = op->getParentOfType<gpu::GPUFuncOp>();
  if (op.getIssue() == Issue::Thread || !func || promisedSizes(func).block)
    return;
  auto [x, y, z] = *sizes.block;
  const std::array<int32_t, 3> block{int32_t(x), int32_t(y), int32_t(z)};
  func.setKnownBlockSizeAttr(
      DenseI32ArrayAttr::get(op.getContext(), ArrayRef(block)));
}

static void attach(InFlightDiagnostic diag, const Message &message) {
  diag << message.text;
  for (const std::string &note : message.notes)
    diag.attachNote() << note;
}

static LogicalResult refuse(Operation *op,
                            const std::optional<Refusal> &refusal) {
  if (!refusal)
    return success();
  InFlightDiagnostic diag = op->emitOpError(refusal->rule);
  if (!refusal->fix.empty())
    diag.attachNote() << refusal->fix;
  return diag;
}

static LogicalResult analyze(CopyAsyncOp op, const KernelSizes &sizes,
                             Operation *scope, Bounds bounds, bool remarks) {
  Answer answer = planCopy(op, sizes, scope);
  if (!answer.chosen) {
    attach(op.emitOpError(), answer.message());
    return failure();
  }
  const CopyPlan &plan = *answer.plan();
  if (plan.count != 0 && failed(ensureInside(op, answer, bounds)))
    return failure();
  if (remarks)
    attach(op.emitRemark(), answer.message());
  op.setPlanAttr(answer.planAttr(op.getContext()));
  promiseBlock(op, sizes);
  alignBuffer(*answer.src, plan.alignment);
  alignBuffer(*answer.dst, plan.alignment);
  return success();
}

static LogicalResult analyze(StoreAsyncOp op, const KernelSizes &sizes,
                             Operation *scope) {
  std::optional<Refusal> refusal;
  std::optional<TracedTile> dst;
  if ((refusal = checkOnDevice(op)) ||
      (refusal = checkPeer(op.getRank(), sizes)) ||
      (refusal = traceSide("destination", op.getDst(), scope, dst)) ||
      (refusal = checkStoredElements(op, *dst)))
    return refuse(op, refusal);
  op.setAligned(true);
  alignBuffer(*dst, op.getStoredBytes());
  return success();
}

static LogicalResult analyze(PeerOp op, const KernelSizes &sizes) {
  std::optional<Refusal> refusal = checkOnDevice(op);
  if (!refusal)
    refusal = checkRank(op.getRank(), sizes);
  return refuse(op, refusal);
}

namespace {
struct AnalyzeLayout : tile::impl::TileAnalyzeLayoutBase<AnalyzeLayout> {
  using TileAnalyzeLayoutBase::TileAnalyzeLayoutBase;

  const KernelSizes &sizesOf(Operation *op,
                             llvm::DenseMap<Operation *, KernelSizes> &known) {
    Operation *device = deviceCodeAround(op);
    auto found = known.find(device);
    if (found == known.end())
      found =
          known.insert({device, sizesForCopies(device, getOperation())}).first;
    return found->second;
  }

  void runOnOperation() override {
    Operation *root = getOperation();
    bool isRight = true;
    llvm::DenseMap<Operation *, KernelSizes> sizes;
    root->walk([&](Operation *op) {
      if (auto copy = dyn_cast<CopyAsyncOp>(op))
        isRight &=
            succeeded(analyze(copy, sizesOf(op, sizes), root, bounds, remarks));
      else if (auto store = dyn_cast<StoreAsyncOp>(op))
        isRight &= succeeded(analyze(store, sizesOf(op, sizes), root));
      else if (auto peer = dyn_cast<PeerOp>(op))
        isRight &= succeeded(analyze(peer, sizesOf(op, sizes)));
      else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
        isRight &= succeeded(checkLaunch(launch));
      else if (isa<ArriveOp, ExpectOp, WaitOp>(op))
        isRight &= succeeded(refuse(op, checkOnDevice(op)));
    });
    if (!isRight)
      signalPassFailure();
  }
};
} // namespace
