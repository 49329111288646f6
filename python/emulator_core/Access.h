// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores and atomics of a warp, in any state space.
#pragma once

#include "Cluster.h"
#include "Combine.h"
#include "Operations.h"

#include <vector>

namespace tile_emulator {

enum class Space { Global, Shared, SharedCluster, Local, Param, Generic };

struct Access {
  enum Action { LOAD, STORE, ATOMIC } action = LOAD;
  Space space = Space::Generic;
  // Bytes of an element; there is one for each of `slots` (-1: it goes
  // nowhere).
  int width = 4;
  Strength strength = WEAK;
  int line = 0;
  // The address is what a register of 32 or 64 bits holds, plus `offset`.
  int base = 0;
  bool wideBase = true;
  int64_t offset = 0;
  std::vector<int> slots;
  // What an atomic makes of the old elements, and where its operands are: those
  // of a compare-and-swap, then what it stores.
  Combine combine = nullptr;
  std::vector<int> operands, others;
};

// The accesses of the active lanes.
Accesses accessesOf(const Access &access, const Warp &warp, const Lanes &lanes);

// Returns whether it was a poll: a strong load that gave what it gave before,
// or an atomic that changed nothing.
bool perform(const Access &access, const Accesses &accesses, Warp &warp,
             const Lanes &lanes);

} // namespace tile_emulator
