// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MBarrier.h"

#include "Cluster.h"

#include <algorithm>

namespace tile_emulator {

// A state is the phase above, and the pending count below, this bit.
constexpr int STATE_SHIFT = 20;
constexpr int KEPT_PHASES = 4;

bool MBarrier::hasVisibleInit(const Clock &clock, int thread) const {
  return thread == initThread || clock.get(SEEN, initThread) >= initEpoch ||
         std::any_of(fences.begin(), fences.end(), [&](const auto &fence) {
           return clock.get(CAUSED, fence.first) >= fence.second;
         });
}

void MBarrier::use(int thread, uint32_t epoch) {
  auto [at, isNew] = used.try_emplace(thread, epoch);
  if (isNew)
    users.push_back(thread);
  else
    at->second = epoch;
}

void MBarrier::complete(ClockPtr wide, ClockPtr near) {
  done[phase] = {std::move(wide), std::move(near)};
  done.erase(phase - KEPT_PHASES);
  ++phase;
}

int MBarrier::knownPhases(const Clock &clock, int thread) {
  int &sure = known[thread];
  int count =
      std::max(sure, static_cast<int>(clock.get(CAUSED, column)) - base);
  while (count < phase) {
    auto over = done.find(count);
    if (over == done.end() || bytePhases.count(count) ||
        !clock.knowsCausesOf(*over->second.first, column, thread))
      break;
    ++count;
  }
  return sure = count;
}

template <class Value>
MBarrier::Answer MBarrier::ask(const Warp &warp, uint32_t bits,
                               const Value *values, bool parity, bool fails,
                               int line) {
  Answer answer;
  for (int lane = 0; lane < LANES_OF_WARP; ++lane) {
    if (!(bits >> lane & 1))
      continue;
    int thread = warp.thread0 + lane;
    int count = knownPhases(*warp.clockOf(lane), thread);
    int wanted =
        static_cast<int>(static_cast<uint64_t>(values[lane]) >> STATE_SHIFT);
    if (parity)
      wanted = (values[lane] & 1) == Value(count & 1) ? count : count - 1;
    if (wanted >= count && fails) {
      answer.missed = true;
      continue;
    }
    if (wanted >= phase)
      continue;
    answer.passed |= uint32_t(1) << lane;
    if (wanted < count && parity)
      atOnce[thread] = {line, wanted};
    else
      atOnce.erase(thread);
    auto same = std::find_if(answer.phases.begin(), answer.phases.end(),
                             [&](auto &each) { return each.first == wanted; });
    if (same == answer.phases.end())
      same = answer.phases.insert(same, {wanted, 0});
    same->second |= uint32_t(1) << lane;
  }
  return answer;
}

template MBarrier::Answer MBarrier::ask(const Warp &, uint32_t,
                                        const uint32_t *, bool, bool, int);
template MBarrier::Answer MBarrier::ask(const Warp &, uint32_t,
                                        const uint64_t *, bool, bool, int);

} // namespace tile_emulator
