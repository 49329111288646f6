// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a copy costs, in clocks of the SM for one tile where the next one
// overlaps with it: a table of measured constants, and the sums made of them.
#ifndef TILE_PLAN_COST_H
#define TILE_PLAN_COST_H

#include <cstdint>

namespace tile {

/// Clocks, measured on one kind of chip.
struct Costs {
  /// Bytes per cycles that the link between two SMs carries in one direction.
  double linkBytes;
  /// Cycles for a stored segment of `kSegmentBytes` or part of one, and the
  /// least for what one store of a warp writes to a line.
  double segment, line;
  /// Cycles for a tile that the link alone decides, beyond its bytes.
  double tile;
  /// Cycles for each bulk copy and for all of them, by one thread behind a
  /// branch.
  double bulkThread, bulkThreadBase;
  /// The same by an elected lane of a converged warp, unrolled.
  double bulkElected, bulkElectedBase;
  /// Cycles of one warp for 32 loads and stores of a round; and where a store
  /// is gathered from several loads, for each cycles that these keep the banks
  /// busy.
  double round, gatheredBank;
};

/// Neighbouring lanes that store into one of these share a packet.
constexpr int64_t kSegmentBytes = 32;
/// A line of shared memory.
constexpr int64_t kLineBytes = 128;

/// The table of the chip that is compiled for. There is one so far.
const Costs &getCosts();

/// Estimates `count` bulk copies of `chunkBytes` each, whose starts are
/// multiples of `alignment` bytes, which is at most a line, on both sides.
int64_t bulkCycles(const Costs &costs, int64_t chunkBytes, int64_t count,
                   int64_t alignment, bool elected);

/// What the warps of a copy by `st.async` do together.
struct StoreWork {
  int64_t bytes = 0;
  /// Cycles for the packets on the link, counted for each warp's store on its
  /// own.
  double packetCycles = 0;
  /// Cycles in which the source's banks give all that is loaded.
  int64_t bankCycles = 0;
  /// Loads and stores of whole warps.
  int64_t rounds = 0;
  /// Whether stores are put together from several loads.
  bool isGathered = false;
};

/// Estimates stores by `threads` threads.
int64_t storeCycles(const Costs &costs, const StoreWork &work, int64_t threads);

} // namespace tile

#endif // TILE_PLAN_COST_H
