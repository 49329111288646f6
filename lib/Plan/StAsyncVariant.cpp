// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variant `st_async`: stores of 16, 8 or 4 bytes by
// `st.async.shared::cluster.mbarrier::complete_tx::bytes`, spread over all
// threads that execute the op. PTX wants each address aligned to its bytes.
#include "lib/Plan/Alignment.h"
#include "lib/Plan/Banks.h"
#include "lib/Plan/CommonRuns.h"
#include "lib/Plan/Cost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;

static constexpr int64_t kLargestStore = 16;
static constexpr int64_t kSmallestStore = 4;

namespace {
struct Loop {
  int64_t extent;
  int64_t src;
  int64_t dst;
};
/// The slowest first. Neighbouring threads take neighbouring points.
using Loops = SmallVector<Loop, 6>;

/// Stores of one size, each read from the source in one piece or in parts.
struct Stores {
  int64_t bytes;
  int64_t partBytes;
  Loops loops;
  /// How many parts lie how many bytes apart in the source, the nearest first.
  struct Level {
    int64_t count;
    int64_t step;
  };
  SmallVector<Level, 2> levels = {};

  int64_t parts() const { return bytes / partBytes; }

  int64_t offsetOf(int64_t part) const {
    int64_t offset = 0;
    for (auto [count, step] : levels) {
      offset += part % count * step;
      part /= count;
    }
    return offset;
  }
};
} // namespace

static layout::Swizzle swizzleOf(ArrayRef<int64_t> numbers) {
  return {numbers[0], numbers[1], numbers[2]};
}

static int64_t swizzled(ArrayRef<int64_t> swizzle, int64_t offset) {
  return swizzle.empty() ? offset : swizzleOf(swizzle).apply(offset);
}

static Loops loopsOf(const CopyPlan &plan) {
  Loops loops;
  for (auto [extent, src, dst] :
       llvm::zip_equal(plan.loops, plan.src.steps, plan.dst.steps))
    loops.push_back({extent, src, dst});
  return loops;
}

/// Cycles on the link for what some lanes store at once: lanes share a segment
/// where each goes on where the one before it ends, and a line where they stay
/// in it.
static double packetCycles(ArrayRef<int64_t> targets, int64_t storeBytes) {
  const Costs &costs = getCosts();
  double sum = 0, line = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (i > 0 && targets[i] / kLineBytes != targets[i - 1] / kLineBytes) {
      sum += std::max(line, costs.line);
      line = 0;
    }
    if (line == 0 || targets[i] != targets[i - 1] + storeBytes ||
        targets[i] % kSegmentBytes == 0)
      line += costs.segment;
  }
  return sum + std::max(line, costs.line);
}

/// The offsets of the first points of `loops`, from `start` on.
static SmallVector<int64_t> offsetsOf(const Loops &loops, int64_t Loop::*step,
                                      int64_t start, size_t most) {
  SmallVector<int64_t> offsets{start};
  for (const Loop &loop : llvm::reverse(loops)) {
    size_t inner = offsets.size();
    for (int64_t i = 1; i < loop.extent && offsets.size() < most; ++i)
      for (size_t j = 0; j < inner; ++j)
        offsets.push_back(offsets[j] + i * (loop.*step));
  }
  offsets.truncate(std::min(offsets.size(), most));
  return offsets;
}

/// Whether the lanes of the round at `first` do what those of the round before
/// do, some periods further on.
static bool repeats(ArrayRef<int64_t> offsets, int64_t first, int64_t period) {
  if (first < kLanes || first + kLanes > int64_t(offsets.size()))
    return false;
  ArrayRef<int64_t> before = offsets.slice(first - kLanes, kLanes),
                    now = offsets.slice(first, kLanes);
  int64_t step = now[0] - before[0];
  return step % period == 0 &&
         llvm::all_of_zip(now, before,
                          [&](int64_t a, int64_t b) { return a - b == step; });
}

/// Looks at what the first warps do, and takes the others for alike.
static StoreWork workOf(const CopyPlan &plan, const Stores &stores) {
  constexpr int64_t mostRounds = 64;
  int64_t count = 1;
  for (const Loop &loop : stores.loops)
    count *= loop.extent;
  StoreWork work;
  work.bytes = count * stores.bytes;
  work.rounds = llvm::divideCeil(count, kLanes);
  work.isGathered = stores.parts() > 1;
  int64_t seen = std::min(work.rounds, mostRounds);
  int64_t most = std::min(count, seen * kLanes);
  SmallVector<int64_t> sources =
      offsetsOf(stores.loops, &Loop::src, plan.src.start, most);
  SmallVector<int64_t> targets =
      offsetsOf(stores.loops, &Loop::dst, plan.dst.start, most);
  for (int64_t &target : targets)
    target = swizzled(plan.dst.swizzle, target);
  int64_t period = kBanks * kBankBytes;
  if (!plan.src.swizzle.empty())
    period = std::max(period, swizzleOf(plan.src.swizzle).period());
  double packets = 0;
  int64_t banks = 0;
  for (int64_t first = 0; first < most; first += kLanes) {
    int64_t lanes = std::min(kLanes, most - first);
    if (!repeats(targets, first, kLineBytes))
      packets =
          packetCycles(ArrayRef(targets).slice(first, lanes), stores.bytes);
    work.packetCycles += packets;
    if (!repeats(sources, first, period)) {
      banks = 0;
      for (int64_t part = 0; part < stores.parts(); ++part) {
        SmallVector<int64_t, 32> places = llvm::map_to_vector<32>(
            ArrayRef(sources).slice(first, lanes), [&](int64_t src) {
              return swizzled(plan.src.swizzle, src + stores.offsetOf(part));
            });
        for (int64_t cycles : loadCycles(places, stores.partBytes))
          banks += cycles;
      }
    }
    work.bankCycles += banks;
  }
  work.packetCycles *= double(work.rounds) / seen;
  work.bankCycles = work.bankCycles * work.rounds / seen;
  return work;
}

/// The orders in which the threads may take the stores: along the destination,
/// so that lanes fill packets; along the source, so that their loads meet in no
/// bank; and, between these, a part of a line of the one along the other.
static SmallVector<Loops, 5> ordersOf(const Stores &stores) {
  auto along = [](Loops loops, int64_t Loop::*step) {
    llvm::stable_sort(loops, [step](const Loop &a, const Loop &b) {
      return std::abs(a.*step) > std::abs(b.*step);
    });
    return loops;
  };
  SmallVector<Loops, 5> orders{along(stores.loops, &Loop::dst)};
  for (int64_t bytes = kLineBytes; bytes > stores.bytes; bytes /= 2) {
    int64_t lanes = bytes / stores.bytes;
    Loops parts = stores.loops;
    auto *loop = llvm::find_if(parts, [&](const Loop &loop) {
      return loop.dst == stores.bytes && loop.extent % lanes == 0;
    });
    if (loop == parts.end())
      continue;
    Loop fastest{lanes, loop->src, loop->dst};
    *loop = {loop->extent / lanes, loop->src * lanes, loop->dst * lanes};
    if (loop->extent == 1)
      parts.erase(loop);
    parts = along(parts, &Loop::src);
    parts.push_back(fastest);
    orders.push_back(std::move(parts));
  }
  orders.push_back(along(stores.loops, &Loop::src));
  return orders;
}

/// A swizzle is its own inverse, and permutes aligned blocks: where both sides
/// take the same steps through whole blocks, what moves from `x` to
/// `swizzle(x)` moves as well from `swizzle(x)` to `x`, and then in the
/// destination's order.
static std::optional<CopyPlan> withSwizzleAtSource(const CopyProblem &problem,
                                                   const CopyPlan &plan) {
  if (plan.dst.swizzle.empty() || !plan.src.swizzle.empty() ||
      plan.src.steps != plan.dst.steps || !problem.src.offset.isStatic() ||
      !problem.dst.offset.isStatic() || problem.src.offsetInDescriptor ||
      problem.dst.offsetInDescriptor)
    return std::nullopt;
  layout::Swizzle swizzle = swizzleOf(plan.dst.swizzle);
  int64_t reached = plan.chunkBytes;
  Loops loops = loopsOf(plan);
  llvm::sort(loops, [](const Loop &a, const Loop &b) { return a.dst < b.dst; });
  for (const Loop &loop : loops) {
    if (loop.dst != reached)
      return std::nullopt;
    reached *= loop.extent;
  }
  if (reached % swizzle.block() != 0 || plan.chunkBytes > swizzle.unit() ||
      plan.src.start % swizzle.period() != 0 ||
      plan.dst.start % swizzle.period() != 0)
    return std::nullopt;
  CopyPlan turned = plan;
  std::swap(turned.src.swizzle, turned.dst.swizzle);
  return turned;
}

/// Stores of `bytes`, each put together from parts of `partBytes` that divide
/// the runs, where the destination goes on from one part to the next. Nothing
/// where it does not, or where a store is not proved to begin at a multiple of
/// its bytes.
static std::optional<Stores> assemble(const CopyProblem &problem,
                                      const CopyPlan &plan, int64_t partBytes,
                                      int64_t bytes) {
  Stores stores{bytes, partBytes, loopsOf(plan)};
  if (plan.chunkBytes > partBytes)
    stores.loops.push_back({plan.chunkBytes / partBytes, partBytes, partBytes});
  for (int64_t reached = partBytes; reached < bytes;) {
    auto *along = llvm::find_if(stores.loops, [&](const Loop &loop) {
      return loop.dst == reached && std::gcd(loop.extent, bytes / reached) > 1;
    });
    if (along == stores.loops.end())
      return std::nullopt;
    int64_t taken = std::gcd(along->extent, bytes / reached);
    if (!stores.levels.empty() &&
        along->src == stores.levels.back().count * stores.levels.back().step)
      stores.levels.back().count *= taken;
    else
      stores.levels.push_back({taken, along->src});
    reached *= taken;
    *along = {along->extent / taken, along->src * taken, along->dst * taken};
    if (along->extent == 1)
      stores.loops.erase(along);
  }
  // Nothing longer than the parts was proved so far.
  bool isMoved = !plan.dst.swizzle.empty() &&
                 plan.dst.swizzle[1] < int64_t(llvm::Log2_64(bytes));
  if (bytes > partBytes &&
      (isMoved || !startsAtMultiple(problem.dst, plan.dst.start, bytes) ||
       llvm::any_of(stores.loops,
                    [&](const Loop &loop) { return loop.dst % bytes != 0; })))
    return std::nullopt;
  return stores;
}

/// Writes `stores` into a copy of `plan`, in the order that costs least.
static CopyPlan ordered(const CopyPlan &plan, Stores stores, int64_t threads) {
  CopyPlan best;
  for (Loops &loops : ordersOf(stores)) {
    stores.loops = std::move(loops);
    StoreWork work = workOf(plan, stores);
    int64_t cycles = storeCycles(getCosts(), work, threads);
    if (best.count != 0 && best.cycles <= cycles)
      continue;
    best = plan;
    best.chunkBytes = stores.bytes;
    best.threads = threads;
    best.cycles = cycles;
    best.count = 1;
    best.loops.clear();
    best.src.steps.clear();
    best.dst.steps.clear();
    for (const Loop &loop : stores.loops) {
      best.count *= loop.extent;
      best.loops.push_back(loop.extent);
      best.src.steps.push_back(loop.src);
      best.dst.steps.push_back(loop.dst);
    }
    best.alignment = std::max(best.alignment, stores.bytes);
    if (stores.parts() > 1)
      best.src.gather = {stores.partBytes, stores.levels[0].step};
    for (size_t i = 1; i < stores.levels.size(); ++i)
      best.src.gather.append(
          {stores.levels[i - 1].count, stores.levels[i].step});
    best.remark = llvm::formatv(
        "{0} cycles for a warp to load from the source, {1} without bank "
        "conflicts",
        llvm::divideCeil(work.bankCycles, work.rounds * stores.parts()),
        llvm::divideCeil(kLanes * stores.partBytes, kBanks * kBankBytes));
  }
  return best;
}

/// The best stores of parts that are as large as `plan` was proved for.
static std::optional<CopyPlan> bestOf(const CopyProblem &problem,
                                      const CopyPlan &plan, int64_t partBytes) {
  std::optional<CopyPlan> best;
  auto consider = [&](const CopyPlan &from, int64_t bytes) {
    std::optional<Stores> stores = assemble(problem, from, partBytes, bytes);
    if (!stores)
      return;
    CopyPlan other = ordered(from, std::move(*stores), problem.threads);
    if (!best || other.cycles < best->cycles)
      best = std::move(other);
  };
  std::optional<CopyPlan> turned = withSwizzleAtSource(problem, plan);
  for (int64_t bytes = std::max(partBytes, kSmallestStore);
       bytes <= kLargestStore; bytes *= 2) {
    consider(plan, bytes);
    if (turned && bytes == partBytes)
      consider(*turned, bytes);
  }
  return best;
}

static std::variant<CopyPlan, Refusal> planStAsync(const CopyProblem &problem) {
  std::optional<Refusal> refused;
  for (int64_t part = kLargestStore; part > 0; part /= 2) {
    std::variant<CopyPlan, Refusal> runs = planCommonRuns(problem, part);
    if (auto *refusal = std::get_if<Refusal>(&runs)) {
      if (part >= kSmallestStore)
        refused = std::move(*refusal);
      continue;
    }
    const CopyPlan &plan = std::get<CopyPlan>(runs);
    if (plan.count == 0)
      return plan;
    if (std::optional<CopyPlan> best = bestOf(problem, plan, part))
      return *best;
  }
  return *refused;
}

namespace tile {
Variant stAsyncVariant() {
  Variant variant;
  variant.name = "st_async";
  variant.isCooperative = true;
  variant.usesAsyncProxy = false;
  variant.threadsLoad = true;
  variant.minPtx = 81;
  variant.plan = planStAsync;
  return variant;
}
} // namespace tile
