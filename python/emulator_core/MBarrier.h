// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What threads know of an mbarrier: its init, and which of its phases are over.
#pragma once

#include "Clock.h"

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tile_emulator {

class Warp;

class MBarrier {
public:
  MBarrier(int64_t place, int column, int base, int initThread,
           uint32_t initEpoch)
      : place(place), column(column), base(base), initThread(initThread),
        initEpoch(initEpoch) {}

  // The shared byte where it is; the column of clocks in which its phases
  // count, and the epoch before its first.
  const int64_t place;
  const int column, base, initThread;
  const uint32_t initEpoch;
  int phase = 0;

  // Threads that have fenced the init, and when.
  std::vector<std::pair<int, uint32_t>> fences;
  bool hasVisibleInit(const Clock &clock, int thread) const;

  // When each thread has last used it, and who came first.
  std::unordered_map<int, uint32_t> used;
  std::vector<int> users;
  void use(int thread, uint32_t epoch);

  // Phases that have got bytes.
  std::set<int> bytePhases;
  // What the completion of the last phases tells: those who wait at a wide
  // scope, and at that of the CTA.
  std::map<int, std::pair<ClockPtr, ClockPtr>> done;
  void complete(ClockPtr wide, ClockPtr near);
  // How many phases a thread knows to be complete: those that it has observed,
  // and one without bytes whose arrivals it all knows.
  int knownPhases(const Clock &clock, int thread);

  // The last wait of each thread that returned at once: its line and phase.
  std::unordered_map<int, std::pair<int, int>> atOnce;

  struct Answer {
    uint32_t passed = 0;
    bool missed = false;
    // The lanes that pass a phase, by the first of them.
    std::vector<std::pair<int, uint32_t>> phases;
  };
  // Decides a wait of some lanes for a parity, or a state. Those that do not
  // know their phase to be over miss it where `fails`.
  template <class Value>
  Answer ask(const Warp &warp, uint32_t bits, const Value *values, bool parity,
             bool fails, int line);

private:
  std::unordered_map<int, int> known;
};

} // namespace tile_emulator
