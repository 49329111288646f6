// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variant `st_async`: stores of 16, 8 or 4 bytes by
// `st.async.shared::cluster.mbarrier::complete_tx::bytes`, spread over all
// threads that execute the op. PTX wants each address aligned to its bytes.
#include "lib/Analysis/Banks.h"
#include "lib/Analysis/CommonRuns.h"
#include "lib/Analysis/Cost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

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
  int64_t partStep = 0;
  Loops loops;

  int64_t parts() const { return bytes / partBytes; }
};
} // namespace

static int64_t swizzled(ArrayRef<int64_t> swizzle, int64_t offset) {
  if (swizzle.empty())
    return offset;
  return layout::Swizzle{swizzle[0], swizzle[1], swizzle[2]}.apply(offset);
}

static Loops loopsOf(const CopyPlan &plan) {
  Loops loops;
  for (auto [extent, src, dst] :
       llvm::zip_equal(plan.loops, plan.srcSteps, plan.dstSteps))
    loops.push_back({extent, src, dst});
  return loops;
}

/// Clk on the link for what some lanes store at once: lanes share a segment
/// where each goes on where the one before it ends, and a line where they stay
/// in it.
static double packetClk(ArrayRef<int64_t> targets, int64_t storeBytes) {
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
  for (int64_t round = 0; round < seen; ++round) {
    SmallVector<int64_t, 32> targets;
    SmallVector<int64_t, 32> sources;
    for (int64_t i = round * kLanes; i < std::min(count, (round + 1) * kLanes);
         ++i) {
      int64_t rest = i, src = plan.srcStart, dst = plan.dstStart;
      for (const Loop &loop : llvm::reverse(stores.loops)) {
        src += rest % loop.extent * loop.src;
        dst += rest % loop.extent * loop.dst;
        rest /= loop.extent;
      }
      sources.push_back(src);
      targets.push_back(swizzled(plan.dstSwizzle, dst));
    }
    work.packetClk += packetClk(targets, stores.bytes);
    for (int64_t part = 0; part < stores.parts(); ++part) {
      SmallVector<int64_t, 32> places =
          llvm::map_to_vector<32>(sources, [&](int64_t src) {
            return swizzled(plan.srcSwizzle, src + part * stores.partStep);
          });
      for (int64_t clk : loadClk(places, stores.partBytes))
        work.bankClk += clk;
    }
  }
  work.packetClk *= double(work.rounds) / seen;
  work.bankClk = work.bankClk * work.rounds / seen;
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
  if (plan.dstSwizzle.empty() || !plan.srcSwizzle.empty() ||
      plan.srcSteps != plan.dstSteps || !problem.src.offset.isStatic() ||
      !problem.dst.offset.isStatic() || problem.src.offsetInDescriptor ||
      problem.dst.offsetInDescriptor)
    return std::nullopt;
  layout::Swizzle swizzle{plan.dstSwizzle[0], plan.dstSwizzle[1],
                          plan.dstSwizzle[2]};
  int64_t reached = plan.chunkBytes;
  Loops loops = loopsOf(plan);
  llvm::sort(loops, [](const Loop &a, const Loop &b) { return a.dst < b.dst; });
  for (const Loop &loop : loops) {
    if (loop.dst != reached)
      return std::nullopt;
    reached *= loop.extent;
  }
  if (reached % swizzle.block() != 0 || plan.chunkBytes > swizzle.unit() ||
      plan.srcStart % swizzle.period() != 0 ||
      plan.dstStart % swizzle.period() != 0)
    return std::nullopt;
  CopyPlan turned = plan;
  std::swap(turned.srcSwizzle, turned.dstSwizzle);
  return turned;
}

/// Runs cut in stores as large as the granule allows.
static Stores cutInStores(const CopyPlan &plan, int64_t granule) {
  Stores stores{granule, granule, 0, loopsOf(plan)};
  if (plan.chunkBytes > granule)
    stores.loops.push_back({plan.chunkBytes / granule, granule, granule});
  return stores;
}

/// Runs shorter than a store, put together where the destination goes on from
/// one to the next.
static std::optional<Stores> gather(const CopyProblem &problem,
                                    const CopyPlan &plan) {
  int64_t part = plan.chunkBytes;
  for (int64_t bytes = kLargestStore; bytes >= kSmallestStore && bytes > part;
       bytes /= 2) {
    int64_t parts = bytes / part;
    Stores stores{bytes, part, 0, loopsOf(plan)};
    auto *along = llvm::find_if(stores.loops, [&](const Loop &loop) {
      return loop.dst == part && loop.extent % parts == 0;
    });
    if (along == stores.loops.end() || plan.dstStart % bytes != 0 ||
        (!plan.dstSwizzle.empty() &&
         plan.dstSwizzle[1] < int64_t(llvm::Log2_64(bytes))))
      continue;
    stores.partStep = along->src;
    *along = {along->extent / parts, along->src * parts, bytes};
    if (along->extent == 1)
      stores.loops.erase(along);
    if (llvm::all_of(stores.loops,
                     [&](const Loop &loop) { return loop.dst % bytes == 0; }) &&
        !checkDestinationAt(problem, bytes))
      return stores;
  }
  return std::nullopt;
}

/// Writes `stores` into a copy of `plan`, in the order that costs least.
static CopyPlan ordered(const CopyPlan &plan, Stores stores, int64_t threads) {
  CopyPlan best;
  for (Loops &loops : ordersOf(stores)) {
    stores.loops = std::move(loops);
    StoreWork work = workOf(plan, stores);
    int64_t clk = storeClk(getCosts(), work, threads);
    if (best.count != 0 && best.clk <= clk)
      continue;
    best = plan;
    best.chunkBytes = stores.bytes;
    best.threads = threads;
    best.clk = clk;
    best.count = 1;
    best.loops.clear();
    best.srcSteps.clear();
    best.dstSteps.clear();
    for (const Loop &loop : stores.loops) {
      best.count *= loop.extent;
      best.loops.push_back(loop.extent);
      best.srcSteps.push_back(loop.src);
      best.dstSteps.push_back(loop.dst);
    }
    if (stores.parts() > 1)
      best.srcGather = {stores.partBytes, stores.partStep};
    best.remark = llvm::formatv(
        "{0} clk for a warp to load from the source, {1} without bank "
        "conflicts",
        llvm::divideCeil(work.bankClk, work.rounds * stores.parts()),
        llvm::divideCeil(kLanes * stores.partBytes, kBanks * kBankBytes));
  }
  return best;
}

std::variant<CopyPlan, Refusal> tile::planStAsync(const CopyProblem &problem) {
  std::optional<Refusal> refused;
  for (int64_t granule = kLargestStore; granule > 0; granule /= 2) {
    std::variant<CopyPlan, Refusal> runs = planCommonRuns(problem, granule);
    if (auto *refusal = std::get_if<Refusal>(&runs)) {
      if (granule >= kSmallestStore)
        refused = std::move(*refusal);
      continue;
    }
    const CopyPlan &plan = std::get<CopyPlan>(runs);
    if (plan.count == 0)
      return plan;
    std::optional<CopyPlan> best;
    if (granule >= kSmallestStore) {
      best = ordered(plan, cutInStores(plan, granule), problem.threads);
      if (std::optional<CopyPlan> turned = withSwizzleAtSource(problem, plan)) {
        CopyPlan other =
            ordered(*turned, cutInStores(*turned, granule), problem.threads);
        if (other.clk < best->clk)
          best = std::move(other);
      }
    }
    if (plan.chunkBytes == granule)
      if (std::optional<Stores> stores = gather(problem, plan)) {
        CopyPlan gathered = ordered(plan, *stores, problem.threads);
        if (!best || gathered.clk < best->clk)
          best = std::move(gathered);
      }
    if (best)
      return *best;
  }
  return *refused;
}
