// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sixteen barriers of a CTA: `bar.sync`, `bar.arrive`, `bar.red`.
#pragma once

#include "Clock.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tile_emulator {

class Warp;

struct NamedBarrier {
  // How many threads open it; ALL for all that have not exited.
  static constexpr int64_t ALL = -1;
  int64_t expected = ALL;
  int arrived = 0, generation = 0;
  // What those who have arrived know; shared with nobody.
  ClockPtr clock;
  // Who has arrived at this generation, and who has ever used it.
  std::vector<std::pair<const Warp *, uint32_t>> members;
  std::vector<const Warp *> users;
  // The votes of `bar.red`: how many there are, and how many say yes.
  int votes = 0, yes = 0;
  // What the last generation tells those who have waited for it.
  ClockPtr lastClock;
  int lastVotes = 0, lastYes = 0;

  uint32_t membersOf(const Warp &warp) const;
  bool isUsedBy(const Warp &warp) const;
};

} // namespace tile_emulator
