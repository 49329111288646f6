// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

#include "dialect/TileDialect.h"
#include "lib/Facts/ValueFacts.h"
#include "lib/Plan/Bounds.h"
#include "lib/Plan/CommonRuns.h"
#include "lib/Plan/StoredElements.h"
#include "lib/Plan/Variant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tile {
#define GEN_PASS_DEF_TILEANALYZELAYOUT
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// The kernel, device function or launch that `op` stands in; null on the host.
static Operation *deviceCodeAround(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (isa<gpu::GPUFuncOp, gpu::LaunchOp>(parent))
      return parent;
    if (isa<FunctionOpInterface>(parent))
      return isa_and_nonnull<gpu::GPUModuleOp>(parent->getParentOp()) ? parent
                                                                      : nullptr;
  }
  return nullptr;
}

/// The product of three extents, where all are constants.
static std::optional<int64_t>
constantProduct(const std::optional<gpu::KernelDim3> &sizes) {
  if (!sizes)
    return 1;
  std::optional<int64_t> x = constantOf(sizes->x), y = constantOf(sizes->y),
                         z = constantOf(sizes->z);
  return x && y && z ? layout::product({*x, *y, *z}) : std::nullopt;
}

/// Threads of a CTA, where the surroundings say it.
static std::optional<int64_t> knownBlockSize(Operation *device) {
  if (isa<gpu::GPUFuncOp>(device)) {
    auto sizes = knownExtents(device, "known_block_size");
    return sizes ? layout::product(*sizes) : std::nullopt;
  }
  if (auto launch = dyn_cast<gpu::LaunchOp>(device))
    return constantProduct(launch.getBlockSizeOperandValues());
  return std::nullopt;
}

/// Whether a block of `size` threads is of whole warps: `elect.sync` waits for
/// every lane.
static bool hasWholeWarps(std::optional<int64_t> size) {
  return size && *size % 32 == 0 && *size >= 1;
}

/// The threads that execute a copy together.
static int64_t executingThreads(Issue issue, int64_t blockSize) {
  return issue == Issue::Thread ? 1 : issue == Issue::Warp ? 32 : blockSize;
}

/// CTAs of the smallest cluster that a launch under `scope` gives the kernel.
/// A `gpu.launch` that was outlined leaves its cluster there and nowhere else.
static std::optional<int64_t> launchedClusterSize(gpu::GPUFuncOp kernel,
                                                  Operation *scope) {
  std::optional<int64_t> smallest;
  scope->walk([&](gpu::LaunchFuncOp launch) {
    if (SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()) !=
        kernel.getOperation())
      return;
    std::optional<gpu::KernelDim3> sizes;
    if (launch.hasClusterSize())
      sizes = launch.getClusterSizeOperandValues();
    std::optional<int64_t> size = constantProduct(sizes);
    if (size && (!smallest || *size < *smallest))
      smallest = size;
  });
  return smallest;
}

/// CTAs of a cluster, where the surroundings say it.
static std::optional<int64_t> knownClusterSize(Operation *device,
                                               Operation *scope) {
  if (auto func = dyn_cast<gpu::GPUFuncOp>(device)) {
    auto sizes = knownExtents(func, "known_cluster_size");
    return sizes ? layout::product(*sizes) : launchedClusterSize(func, scope);
  }
  if (auto launch = dyn_cast<gpu::LaunchOp>(device))
    return constantProduct(launch.getClusterSizeOperandValues());
  return std::nullopt;
}

static LogicalResult checkOnDevice(Operation *op) {
  if (deviceCodeAround(op))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("must stand in device code, got a host function");
  diag.attachNote() << "move it into a gpu.func or the body of a gpu.launch";
  return diag;
}

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
  if (failed(check("known_block_size", launch.getBlockSizeOperandValues())))
    return failure();
  if (launch.hasClusterSize())
    return check("known_cluster_size", launch.getClusterSizeOperandValues());
  return success();
}

/// Refuses a constant rank that the cluster, as far as it is known, lacks.
template <typename Op>
static LogicalResult checkRank(Op op, std::optional<int64_t> clusterSize) {
  IntegerAttr rank;
  if (!clusterSize || !matchPattern(op.getRank(), m_Constant(&rank)) ||
      rank.getInt() < *clusterSize)
    return success();
  InFlightDiagnostic diag = op.emitOpError("rank must be in 0 to ");
  diag << *clusterSize - 1 << " in a cluster of " << *clusterSize << ", got "
       << rank.getInt();
  diag.attachNote() << "name a CTA of the cluster, or launch larger clusters";
  return diag;
}

/// Of what completes bytes on a peer's barrier.
template <typename Op>
static LogicalResult checkSurroundings(Op op, Operation *scope) {
  if (failed(checkOnDevice(op)))
    return failure();
  Operation *device = deviceCodeAround(op);
  std::optional<int64_t> size = knownClusterSize(device, scope);
  if (!size)
    return success();
  if (*size <= 1) {
    InFlightDiagnostic diag =
        op.emitOpError("needs a cluster of more than one CTA, got a cluster "
                       "known to be of 1");
    diag.attachNote() << "launch the kernel with clusters of 2 or more";
    return diag;
  }
  return checkRank(op, size);
}

static std::optional<Tile> trace(Operation *op, StringRef side, Value memref,
                                 Operation *scope) {
  std::variant<Tile, Refusal> traced = traceTile(memref, scope);
  if (auto *tile = std::get_if<Tile>(&traced))
    return std::move(*tile);
  const Refusal &refusal = std::get<Refusal>(traced);
  InFlightDiagnostic diag = op->emitOpError(side) << ' ' << refusal.rule;
  if (!refusal.fix.empty())
    diag.attachNote() << refusal.fix;
  return std::nullopt;
}

static CopyPlanAttr planAttr(MLIRContext *context, StringRef variant,
                             const CopyPlan &plan, Issue issue) {
  // One thread has no choice that these would explain.
  bool chosen = issue != Issue::Thread && plan.count != 0;
  return CopyPlanAttr::get(context, variant, plan.chunkBytes, plan.count,
                           plan.loops, plan.srcStart, plan.srcSteps,
                           plan.srcSwizzle, plan.srcGather, plan.dstStart,
                           plan.dstSteps, plan.dstSwizzle,
                           chosen ? plan.threads : 0, chosen ? plan.clk : 0);
}

/// Does what `bounds` asks for where a tile is not proved to stay inside its
/// buffer.
static LogicalResult ensureInside(CopyAsyncOp op, const CopyProblem &problem,
                                  Bounds bounds) {
  if (bounds == Bounds::Assume)
    return success();
  for (auto [side, memref, tile] :
       {std::tuple<StringRef, Value, const Tile &>("source", op.getSrc(),
                                                   problem.src),
        {"destination", op.getDst(), problem.dst}}) {
    if (isProvedInside(tile))
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
    diag.attachNote()
        << "bound the run-time offset by a loop, a remainder or a "
           "known block size, or choose bounds=assume";
    return diag;
  }
  return success();
}

/// What makes the cheapest plan of `problem`, among the variants that are taken
/// without being named.
static const Variant *chooseFor(const CopyProblem &problem,
                                ArrayRef<Variant> variants) {
  const Variant *best = nullptr;
  int64_t leastClk = 0;
  for (const Variant &variant : variants) {
    if (variant.onlyByName ||
        (problem.issue == Issue::Thread && !variant.byOneThread))
      continue;
    std::variant<CopyPlan, Refusal> result = variant.plan(problem);
    auto *plan = std::get_if<CopyPlan>(&result);
    if (!plan || (best && leastClk <= plan->clk))
      continue;
    best = &variant;
    leastClk = plan->clk;
  }
  return best;
}

/// What else would copy what was refused: another variant, or other threads.
static std::string otherWay(CopyAsyncOp op, CopyProblem problem,
                            ArrayRef<Variant> variants) {
  std::optional<int64_t> size = knownBlockSize(deviceCodeAround(op));
  bool isKnown = hasWholeWarps(size);
  Issue asked = problem.issue;
  if (op.getVariant() && (asked == Issue::Thread || isKnown))
    if (const Variant *other = chooseFor(problem, variants))
      return other->name + " would copy it: drop the variant";
  for (Issue issue : {Issue::Thread, Issue::Warp, Issue::Cta}) {
    if (issue == asked)
      continue;
    problem.issue = issue;
    problem.threads = executingThreads(issue, isKnown ? *size : 32);
    const Variant *other = chooseFor(problem, variants);
    if (!other)
      continue;
    std::string text = "issue(" + stringifyIssue(issue).str() + ")";
    if (issue != Issue::Thread && !isKnown)
      text += " with a known block size";
    if (op.getVariant() && *op.getVariant() != other->name)
      text += " and without the variant";
    return text + " would copy it by " + other->name;
  }
  return "";
}

static LogicalResult refuseBlock(CopyAsyncOp op, std::optional<int64_t> size,
                                 StringRef otherWay) {
  InFlightDiagnostic diag = op.emitOpError();
  diag << "issue(" << stringifyIssue(op.getIssue())
       << ") must be in a block whose size is known to be a multiple of 32, "
          "got ";
  if (size)
    diag << *size << " threads";
  else
    diag << "a size that is not known";
  diag.attachNote() << "give the gpu.func known_block_size = array<i32: x, "
                       "y, z> with x * y * z a multiple of 32";
  if (!otherWay.empty())
    diag.attachNote() << otherWay;
  return diag;
}

/// One variant has its rule in the error; several have a note each.
static LogicalResult explain(CopyAsyncOp op,
                             ArrayRef<std::pair<StringRef, Refusal>> refusals,
                             StringRef otherWay) {
  InFlightDiagnostic diag = op.emitOpError();
  if (refusals.size() == 1)
    diag << "cannot be cut into " << refusals[0].first
         << " copies: " << refusals[0].second.rule;
  else
    diag << "cannot be copied by any variant";
  StringRef where;
  for (auto &[name, refusal] : refusals) {
    if (refusals.size() != 1)
      diag.attachNote() << name << ": " << refusal.rule;
    if (!refusal.where.empty() && refusal.where != where)
      diag.attachNote() << refusal.where;
    where = refusal.where;
    if (!refusal.fix.empty())
      diag.attachNote() << refusal.fix;
  }
  if (!otherWay.empty())
    diag.attachNote() << otherWay;
  return diag;
}

namespace {
struct Considered {
  const Variant *variant;
  std::variant<CopyPlan, Refusal> result;

  const CopyPlan *plan() const { return std::get_if<CopyPlan>(&result); }
};
} // namespace

/// Tells which variants were considered, and what each would cost.
static void remarkOn(CopyAsyncOp op, const CopyProblem &problem,
                     ArrayRef<Considered> all, const Considered &chosen) {
  InFlightDiagnostic diag = op.emitRemark();
  diag << "copied by " << chosen.variant->name << ": "
       << chosen.plan()->chunkBytes * chosen.plan()->count << " bytes in about "
       << chosen.plan()->clk << " clk";
  for (const Considered &one : all) {
    Diagnostic &note = diag.attachNote();
    note << one.variant->name << ": ";
    const CopyPlan *plan = one.plan();
    if (!plan) {
      note << "not possible: " << std::get<Refusal>(one.result).rule;
      continue;
    }
    note << "about " << plan->clk << " clk, " << plan->count
         << (plan->count == 1 ? " copy of " : " copies of ") << plan->chunkBytes
         << " bytes by " << plan->threads
         << (plan->threads == 1 ? " thread" : " threads");
    if (!plan->srcGather.empty())
      note << ", each gathered from parts of " << plan->srcGather[0]
           << " bytes";
    if (!plan->remark.empty())
      note << ", " << plan->remark;
  }
  if (chosen.plan()->count != 0)
    diag.attachNote() << layoutsText(problem);
}

/// One thread asks for a variant of many: a refusal that is there for many as
/// well is the better reason.
static Refusal spreadOverThreads(const Variant &variant, CopyProblem problem) {
  problem.issue = Issue::Warp;
  problem.threads = executingThreads(problem.issue, 32);
  std::variant<CopyPlan, Refusal> result = variant.plan(problem);
  if (auto *refusal = std::get_if<Refusal>(&result))
    return *refusal;
  return {"they are spread over the threads of a warp or a CTA, got "
          "issue(thread)",
          "let a whole warp or CTA execute the op and say issue(warp) or "
          "issue(cta)"};
}

/// The CTA's own rank, in a cluster that has no other along y and z.
static bool isOwnRank(Value rank) {
  while (Operation *op = rank.getDefiningOp()) {
    if (auto id = dyn_cast<gpu::ClusterBlockIdOp>(op)) {
      auto func = op->getParentOfType<gpu::GPUFuncOp>();
      auto sizes =
          func ? knownExtents(func, "known_cluster_size") : std::nullopt;
      return id.getDimension() == gpu::Dimension::x && sizes &&
             (*sizes)[1] == 1 && (*sizes)[2] == 1;
    }
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp>(op))
      return false;
    rank = op->getOperand(0);
  }
  return false;
}

/// A copy to the CTA itself stays in one shared memory: its destination must
/// not be what it reads.
static LogicalResult checkOwnRank(CopyAsyncOp op, const CopyProblem &problem) {
  if (!isOwnRank(op.getRank()) || !surelyOverlap(problem.src, problem.dst))
    return success();
  InFlightDiagnostic diag = op.emitOpError(
      "destination must not overlap the source in a copy to the CTA's own "
      "rank, got tiles of one buffer that do");
  diag.attachNote() << "copy into another buffer, or to another rank";
  return diag;
}

static LogicalResult analyze(CopyAsyncOp op, Operation *scope, Bounds bounds,
                             bool remarks) {
  if (failed(checkSurroundings(op, scope)))
    return failure();
  std::optional<Tile> src = trace(op, "source", op.getSrc(), scope);
  if (!src)
    return failure();
  std::optional<Tile> dst = trace(op, "destination", op.getDst(), scope);
  if (!dst)
    return failure();
  const std::vector<Variant> variants = getVariants();
  std::optional<int64_t> size = knownBlockSize(deviceCodeAround(op));
  CopyProblem problem{std::move(*src), std::move(*dst), op.getIssue(),
                      executingThreads(op.getIssue(), size.value_or(1))};
  if (problem.issue != Issue::Thread && !hasWholeWarps(size))
    return refuseBlock(op, size, otherWay(op, problem, variants));
  if (failed(checkOwnRank(op, problem)))
    return failure();

  SmallVector<Considered, 2> all;
  SmallVector<std::pair<StringRef, Refusal>> refusals;
  for (const Variant &variant : variants) {
    if (op.getVariant() ? *op.getVariant() != variant.name : variant.onlyByName)
      continue;
    if (problem.issue == Issue::Thread && !variant.byOneThread) {
      if (op.getVariant())
        refusals.emplace_back(variant.name,
                              spreadOverThreads(variant, problem));
      continue;
    }
    all.push_back({&variant, variant.plan(problem)});
    if (auto *refusal = std::get_if<Refusal>(&all.back().result))
      refusals.emplace_back(variant.name, *refusal);
  }
  const Considered *best = nullptr;
  for (const Considered &one : all)
    if (one.plan() && (!best || one.plan()->clk < best->plan()->clk))
      best = &one;
  if (!best)
    return explain(op, refusals, otherWay(op, problem, variants));
  const CopyPlan &plan = *best->plan();
  if (plan.count != 0 && failed(ensureInside(op, problem, bounds)))
    return failure();
  if (remarks)
    remarkOn(op, problem, all, *best);
  op.setPlanAttr(
      planAttr(op.getContext(), best->variant->name, plan, op.getIssue()));
  alignBuffer(problem.src, plan.alignment);
  alignBuffer(problem.dst, plan.alignment);
  return success();
}

static LogicalResult analyze(StoreAsyncOp op, Operation *scope) {
  if (failed(checkSurroundings(op, scope)))
    return failure();
  std::optional<Tile> dst = trace(op, "destination", op.getDst(), scope);
  if (!dst)
    return failure();
  if (std::optional<Refusal> refusal = checkStoredElements(op, *dst)) {
    InFlightDiagnostic diag = op.emitOpError(refusal->rule);
    if (!refusal->fix.empty())
      diag.attachNote() << refusal->fix;
    return diag;
  }
  op.setAligned(true);
  alignBuffer(*dst, op.getStoredBytes());
  return success();
}

static LogicalResult analyze(PeerOp op, Operation *scope) {
  if (failed(checkOnDevice(op)))
    return failure();
  return checkRank(op, knownClusterSize(deviceCodeAround(op), scope));
}

namespace {
struct AnalyzeLayout : tile::impl::TileAnalyzeLayoutBase<AnalyzeLayout> {
  using TileAnalyzeLayoutBase::TileAnalyzeLayoutBase;

  void runOnOperation() override {
    Operation *root = getOperation();
    bool isRight = true;
    root->walk([&](Operation *op) {
      if (auto copy = dyn_cast<CopyAsyncOp>(op))
        isRight &= succeeded(analyze(copy, root, bounds, remarks));
      else if (auto store = dyn_cast<StoreAsyncOp>(op))
        isRight &= succeeded(analyze(store, root));
      else if (auto peer = dyn_cast<PeerOp>(op))
        isRight &= succeeded(analyze(peer, root));
      else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
        isRight &= succeeded(checkLaunch(launch));
      else if (isa<ArriveOp, ExpectOp, WaitOp>(op))
        isRight &= succeeded(checkOnDevice(op));
    });
    if (!isRight)
      signalPassFailure();
  }
};
} // namespace
