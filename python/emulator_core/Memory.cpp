// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"

#include <algorithm>

namespace tile_emulator {
namespace {

template <class S> auto firstAfter(S &segments, uint64_t address) {
  return std::upper_bound(
      segments.begin(), segments.end(), address,
      [](uint64_t a, const auto &segment) { return a < segment.base; });
}

} // namespace

void Memory::insert(uint64_t base, uint64_t nbytes, uint8_t *data) {
  segments.insert(firstAfter(segments, base), {base, nbytes, data});
}

void Memory::remove(uint64_t base) {
  auto after = firstAfter(segments, base);
  if (after != segments.begin() && (after - 1)->base == base)
    segments.erase(after - 1);
}

uint8_t *Memory::find(uint64_t address, uint64_t nbytes) {
  auto holds = [&](const Segment &segment) {
    return segment.base <= address && nbytes <= segment.nbytes &&
           address - segment.base <= segment.nbytes - nbytes;
  };
  if (last >= segments.size() || !holds(segments[last])) {
    auto after = firstAfter(segments, address);
    if (after == segments.begin() || !holds(*(after - 1)))
      return nullptr;
    last = after - segments.begin() - 1;
  }
  const Segment &segment = segments[last];
  return segment.data + (address - segment.base);
}

} // namespace tile_emulator
