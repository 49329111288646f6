// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions in which the lanes of a warp give each other values.
#pragma once

#include "Cluster.h"
#include "Operations.h"

#include <string>
#include <vector>

namespace tile_emulator {

struct Exchange;
// Computes the results of all lanes that are active. A shuffle also says which
// lane each reads, in `from`, which is -1 for its own.
using ExchangeFunction = void (*)(const Exchange &, const Lanes &,
                                  uint32_t results[LANES], int from[LANES]);

struct Exchange {
  ExchangeFunction function = nullptr;
  // A predicate is a target of bytes; -1 where there is none.
  int target = -1, predicate = -1;
  bool targetIsPredicate = false;
  std::vector<int> sources;
  // What the lanes know of each other after it, as the bits `1 << SEEN`, ...
  uint32_t rows = 0;
  // The slot of the mask of lanes that take part.
  int members = 0;

  // Whether all lanes of the masks that the active lanes give are active, and
  // give the same one.
  bool isWhole(const Warp &warp, const Lanes &lanes) const;
  void act(Warp &warp, Lanes &lanes) const;
};

// The function of `shfl.bfly`, `vote.all`, `redux.add.s32`, ...; null where
// there is none.
ExchangeFunction findExchange(const std::string &name);

} // namespace tile_emulator
