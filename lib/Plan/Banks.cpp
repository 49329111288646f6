// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Banks.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace tile;

/// A bank gives one word for each cycles, to all lanes that want it.
static int64_t cyclesFor(SmallVectorImpl<int64_t> &words) {
  // llvm::sort would call qsort, which takes most of the planning's time.
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  int64_t perBank[kBanks] = {}, most = 0;
  for (int64_t word : words)
    most = std::max(most, ++perBank[word & (kBanks - 1)]);
  return most;
}

SmallVector<int64_t, 4> tile::loadCycles(ArrayRef<int64_t> places,
                                         int64_t bytes) {
  int64_t together = std::min(kLanes, kLanes * kBankBytes /
                                          std::max<int64_t>(kBankBytes, bytes));
  SmallVector<int64_t, 4> cycles;
  for (; !places.empty();
       places = places.drop_front(std::min<size_t>(together, places.size()))) {
    SmallVector<int64_t, 32> words;
    for (int64_t place : places.take_front(together))
      for (int64_t byte = 0; byte < bytes; byte += kBankBytes)
        words.push_back((place + byte) / kBankBytes);
    cycles.push_back(cyclesFor(words));
  }
  return cycles;
}
