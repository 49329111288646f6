// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Choose.h"

#include "lib/Facts/ValueFacts.h"
#include "lib/Plan/Bounds.h"
#include "lib/Plan/CommonRuns.h"
#include "lib/Plan/Refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tile;
using llvm::Twine;

/// Whether a block of `size` threads is of whole warps: `elect.sync` waits for
/// every lane.
static bool hasWholeWarps(std::optional<int64_t> size) {
  return size && *size % 32 == 0 && *size >= 1;
}

/// The threads that execute a copy together.
static int64_t executingThreads(Issue issue, int64_t blockSize) {
  return issue == Issue::Thread ? 1 : issue == Issue::Warp ? 32 : blockSize;
}

KernelSizes tile::sizesForCopies(Operation *device, Operation *scope) {
  if (!device)
    return {};
  KernelSizes sizes = agreedSizes(device, scope);
  if (promisedSizes(device).cluster)
    return sizes;
  for (const KernelSizes &launch : launchesOf(device, scope))
    if (launch.ctas() && (!sizes.ctas() || *launch.ctas() < *sizes.ctas()))
      sizes.cluster = launch.cluster;
  return sizes;
}

std::optional<Refusal> tile::checkOnDevice(Operation *op) {
  if (deviceCodeAround(op))
    return std::nullopt;
  return Refusal{"must be in device code, got a host function",
                 "move it into a gpu.func or the body of a gpu.launch"};
}

std::optional<Refusal> tile::checkRank(Value rank, const KernelSizes &sizes) {
  std::optional<int64_t> size = sizes.ctas(), number = constantOf(rank);
  if (!size || !number || *number < *size)
    return std::nullopt;
  return Refusal{(Twine("rank must be in 0 to ") + Twine(*size - 1) +
                  " in a cluster of " + Twine(*size) + ", got " +
                  Twine(*number))
                     .str(),
                 "name a CTA of the cluster, or launch larger clusters"};
}

std::optional<Refusal> tile::checkPeer(Value rank, const KernelSizes &sizes) {
  if (sizes.ctas() && *sizes.ctas() <= 1)
    return Refusal{"needs a cluster of more than one CTA, got a cluster known "
                   "to be of 1",
                   "launch the kernel with clusters of 2 or more"};
  return checkRank(rank, sizes);
}

static std::optional<Refusal> checkBlock(Issue issue,
                                         const KernelSizes &sizes) {
  std::optional<int64_t> size = sizes.threads();
  if (issue == Issue::Thread || hasWholeWarps(size))
    return std::nullopt;
  return Refusal{
      (Twine("issue(") + stringifyIssue(issue) +
       ") must be in a block whose size is known to be a multiple of 32, got " +
       (size ? Twine(*size) + " threads" : Twine("a size that is not known")))
          .str(),
      "give the gpu.func known_block_size = array<i32: x, y, z> with x * y * z "
      "a multiple of 32"};
}

/// The CTA's own rank, in a cluster that has no other along y and z.
static bool isOwnRank(Value rank) {
  while (Operation *op = rank.getDefiningOp()) {
    if (auto id = dyn_cast<gpu::ClusterBlockIdOp>(op)) {
      auto func = op->getParentOfType<gpu::GPUFuncOp>();
      if (!func || id.getDimension() != gpu::Dimension::x)
        return false;
      const KernelSizes sizes = promisedSizes(func);
      return sizes.cluster && (*sizes.cluster)[1] == 1 &&
             (*sizes.cluster)[2] == 1;
    }
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp>(op))
      return false;
    rank = op->getOperand(0);
  }
  return false;
}

/// A copy to the CTA itself stays in one shared memory: its destination must
/// not be what it reads.
static std::optional<Refusal> checkOwnRank(CopyAsyncOp op,
                                           const CopyProblem &problem) {
  if (!op.getRank() || op.getDirection() != Direction::Peer ||
      !isOwnRank(op.getRank()) || !surelyOverlap(problem.src, problem.dst))
    return std::nullopt;
  return Refusal{"destination must not overlap the source in a copy to the "
                 "CTA's own rank, got tiles of one buffer that do",
                 "copy into another buffer, or to another rank"};
}

/// What copies between CTAs asks for other CTAs.
static std::optional<Refusal> checkReceivers(CopyAsyncOp op,
                                             const KernelSizes &sizes) {
  if (Value mask = op.getMask()) {
    std::optional<int64_t> size = sizes.ctas(), bits = constantOf(mask);
    if (op.getDirection() == Direction::Peer && size && *size <= 1)
      return checkPeer(mask, sizes);
    if (!size || !bits || *size >= kMaxClusterSize ||
        (*bits & 0xffff) >> *size == 0)
      return std::nullopt;
    return refuse("mask must name CTAs 0 to " + Twine(*size - 1) +
                      " in a cluster of " + Twine(*size) + ", got rank " +
                      Twine(llvm::Log2_32(*bits & 0xffff)),
                  "drop the bits from " + Twine(*size) +
                      " on, or launch larger clusters");
  }
  if (!op.getRank())
    return std::nullopt;
  return op.getDirection() == Direction::Peer ? checkPeer(op.getRank(), sizes)
                                              : checkRank(op.getRank(), sizes);
}

/// One thread asks for a variant of many: a refusal that is there for many as
/// well is the better reason.
static Refusal refuseOneThread(const Variant &variant, CopyProblem problem) {
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

/// Whether a variant copies in the direction, and in the way, that is asked.
static std::optional<Refusal> checkTraits(const VariantTraits &variant,
                                          const CopyProblem &problem) {
  if (problem.reduces && !variant.reduces)
    return refuse("they overwrite, got a reduction");
  if (llvm::is_contained(variant.directions, problem.direction))
    return std::nullopt;
  if (problem.direction == Direction::Peer)
    return refuse("they have a side in global memory, got both in workgroup "
                  "memory");
  return refuse(
      Twine("they go from workgroup memory to that of a CTA, got a ") +
      (problem.src.isGlobal ? "source" : "destination") + " in global memory");
}

/// Asks the variants that may be taken, or the one that is named.
static std::vector<Considered> consider(const CopyProblem &problem,
                                        std::optional<StringRef> named) {
  std::vector<Considered> all;
  for (Variant &variant : getVariants()) {
    if (named ? *named != variant.name : variant.explicitOnly)
      continue;
    if (std::optional<Refusal> refusal = checkTraits(variant, problem)) {
      if (named)
        all.push_back({std::move(variant), std::move(*refusal)});
      continue;
    }
    bool isPossible = problem.issue != Issue::Thread || !variant.isCooperative;
    if (!isPossible && !named)
      continue;
    std::variant<CopyPlan, Refusal> result =
        isPossible ? variant.plan(problem)
                   : std::variant<CopyPlan, Refusal>(
                         refuseOneThread(variant, problem));
    all.push_back({std::move(variant), std::move(result)});
  }
  return all;
}

/// The cheapest plan; of equal ones the first.
static std::optional<size_t> cheapest(ArrayRef<Considered> all) {
  std::optional<size_t> best;
  for (auto [number, one] : llvm::enumerate(all))
    if (one.plan() && (!best || one.plan()->cycles < all[*best].plan()->cycles))
      best = number;
  return best;
}

/// Another variant, or other threads, that would copy what was refused.
static std::string findOtherWay(CopyProblem problem,
                                std::optional<StringRef> named,
                                std::optional<int64_t> blockSize) {
  bool isKnown = hasWholeWarps(blockSize);
  auto name = [&]() -> std::optional<std::string> {
    std::vector<Considered> all = consider(problem, std::nullopt);
    std::optional<size_t> best = cheapest(all);
    return best ? std::optional(all[*best].variant.name) : std::nullopt;
  };
  Issue asked = problem.issue;
  if (named && (asked == Issue::Thread || isKnown))
    if (std::optional<std::string> other = name())
      return *other + " would copy it: drop the variant";
  for (Issue issue : {Issue::Thread, Issue::Warp, Issue::Cta}) {
    if (issue == asked)
      continue;
    problem.issue = issue;
    problem.threads = executingThreads(issue, isKnown ? *blockSize : 32);
    std::optional<std::string> other = name();
    if (!other)
      continue;
    std::string text = "issue(" + stringifyIssue(issue).str() + ")";
    if (issue != Issue::Thread && !isKnown)
      text += " with a known block size";
    if (named && *named != *other)
      text += " and without the variant";
    return text + " would copy it by " + *other;
  }
  return "";
}

std::optional<Refusal> tile::traceSide(StringRef side, Value memref,
                                       Operation *scope,
                                       std::optional<TracedTile> &tile) {
  std::variant<TracedTile, Refusal> traced = traceTile(memref, scope);
  if (auto *found = std::get_if<TracedTile>(&traced)) {
    tile = std::move(*found);
    return std::nullopt;
  }
  Refusal refusal = std::get<Refusal>(std::move(traced));
  refusal.side = side.str();
  refusal.rule = refusal.side + " " + refusal.rule;
  return refusal;
}

Answer tile::planCopy(CopyAsyncOp op, const KernelSizes &sizes,
                      Operation *scope) {
  Answer answer;
  answer.issue = op.getIssue();
  if ((answer.refusal = checkOnDevice(op)) ||
      (answer.refusal = checkReceivers(op, sizes)) ||
      (answer.refusal = traceSide("source", op.getSrc(), scope, answer.src)) ||
      (answer.refusal =
           traceSide("destination", op.getDst(), scope, answer.dst)))
    return answer;
  CopyProblem problem{
      *answer.src,
      *answer.dst,
      op.getDirection(),
      answer.issue,
      executingThreads(answer.issue, sizes.threads().value_or(1)),
      op.getReduce().has_value()};
  std::optional<StringRef> named = op.getVariant();
  if ((answer.refusal = checkBlock(answer.issue, sizes))) {
    answer.otherWay = findOtherWay(problem, named, sizes.threads());
    return answer;
  }
  if ((answer.refusal = checkOwnRank(op, problem)))
    return answer;
  answer.considered = consider(problem, named);
  answer.chosen = cheapest(answer.considered);
  if (!answer.chosen)
    answer.otherWay = findOtherWay(problem, named, sizes.threads());
  return answer;
}

static CopySideAttr sideAttr(MLIRContext *context, const PlanSide &side) {
  return CopySideAttr::get(context, side.start, side.steps, side.swizzle,
                           side.gather, side.strides);
}

CopyPlanAttr Answer::planAttr(MLIRContext *context) const {
  const CopyPlan &made = *plan();
  // One thread has no choice that these would explain.
  bool isChosen = issue != Issue::Thread && made.count != 0;
  return CopyPlanAttr::get(
      context, considered[*chosen].variant.name, made.chunkBytes, made.count,
      made.loops, sideAttr(context, made.src), sideAttr(context, made.dst),
      isChosen ? made.threads : 0, isChosen ? made.cycles : 0);
}

static std::string costText(const CopyPlan &plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (plan.cycles)
    stream << "about " << plan.cycles << " cycles, ";
  stream << plan.count << (plan.count == 1 ? " copy of " : " copies of ")
         << plan.chunkBytes << " bytes by " << plan.threads
         << (plan.threads == 1 ? " thread" : " threads");
  if (!plan.src.gather.empty())
    stream << ", each gathered from parts of " << plan.src.gather[0]
           << " bytes";
  if (!plan.remark.empty())
    stream << ", " << plan.remark;
  return text;
}

/// Which variants were considered, and what each would cost.
static Message remarkOn(const Answer &answer) {
  const CopyPlan &plan = *answer.plan();
  Message message;
  llvm::raw_string_ostream(message.text)
      << "copied by " << answer.considered[*answer.chosen].variant.name << ": "
      << plan.chunkBytes * plan.count << " bytes";
  if (plan.cycles)
    llvm::raw_string_ostream(message.text)
        << " in about " << plan.cycles << " cycles";
  for (const Considered &one : answer.considered)
    message.notes.push_back(one.variant.name + ": " +
                            (one.plan()
                                 ? costText(*one.plan())
                                 : "not possible: " + one.refusal()->rule));
  if (plan.count != 0)
    message.notes.push_back(layoutsText(*answer.src, *answer.dst));
  return message;
}

/// One variant has its rule in the error; several have a note each.
static Message explain(const Answer &answer) {
  Message message;
  auto note = [&](const std::string &text) {
    if (!text.empty())
      message.notes.push_back(text);
  };
  if (answer.refusal) {
    message.text = answer.refusal->rule;
    note(answer.refusal->fix);
  } else if (answer.considered.size() == 1) {
    message.text = "cannot be cut into " + answer.considered[0].variant.name +
                   " copies: " + answer.considered[0].refusal()->rule;
  } else {
    message.text = "cannot be copied by any variant";
  }
  std::string before;
  for (const Considered &one : answer.considered) {
    const Refusal &refusal = *one.refusal();
    if (answer.considered.size() != 1)
      note(one.variant.name + ": " + refusal.rule);
    std::string where =
        refusal.divergence
            ? divergenceText(*answer.src, *answer.dst, *refusal.divergence)
        : refusal.showsLayouts ? layoutsText(*answer.src, *answer.dst)
                               : std::string();
    if (where != before)
      note(where);
    before = where;
    note(refusal.fix);
  }
  note(answer.otherWay);
  return message;
}

Message Answer::message() const {
  return chosen ? remarkOn(*this) : explain(*this);
}
