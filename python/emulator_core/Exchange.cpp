// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Exchange.h"

#include <algorithm>
#include <unordered_map>

namespace tile_emulator {
namespace {

enum class Shuffle { Up, Down, Butterfly, Index };

template <Shuffle MODE>
void shuffle(const Exchange &exchange, const Lanes &lanes,
             uint32_t results[LANES], int from[LANES]) {
  const uint32_t *source = lanes.at<uint32_t>(exchange.sources[0]),
                 *offset = lanes.at<uint32_t>(exchange.sources[1]),
                 *control = lanes.at<uint32_t>(exchange.sources[2]);
  for (int lane = 0; lane < LANES; ++lane) {
    int b = static_cast<int>(offset[lane] & 31);
    int segment = static_cast<int>(control[lane] >> 8 & 31);
    int limit =
        (lane & segment) | (static_cast<int>(control[lane]) & 31 & ~segment);
    int other = MODE == Shuffle::Up     ? lane - b
                : MODE == Shuffle::Down ? lane + b
                : MODE == Shuffle::Butterfly
                    ? lane ^ b
                    : (lane & segment) | (b & ~segment);
    bool inside = MODE == Shuffle::Up ? other >= limit : other <= limit;
    from[lane] = inside ? other : -1;
    results[lane] = source[inside ? other & 31 : lane];
  }
}

enum class Vote { All, Any, Uniform, Ballot };

template <Vote MODE>
void vote(const Exchange &exchange, const Lanes &lanes, uint32_t results[LANES],
          int *) {
  uint32_t holds = lanes.holds(exchange.sources[0]) & lanes.active;
  bool all = holds == lanes.active;
  uint32_t result = MODE == Vote::Ballot ? holds
                    : MODE == Vote::All  ? all
                    : MODE == Vote::Any  ? holds != 0
                                         : all || !holds;
  std::fill_n(results, LANES, result);
}

template <class T, class F>
void reduce(const Exchange &exchange, const Lanes &lanes,
            uint32_t results[LANES], int *) {
  const T *source = lanes.at<T>(exchange.sources[0]);
  int first = __builtin_ctz(lanes.active);
  T value = source[first];
  for (int lane = first + 1; lane < LANES; ++lane)
    if (lanes.active >> lane & 1)
      value = F()(value, source[lane]);
  std::fill_n(results, LANES, static_cast<uint32_t>(value));
}
#define TILE_REDUCE(NAME, EXPRESSION)                                          \
  struct NAME {                                                                \
    template <class T> T operator()(T a, T b) const {                          \
      return static_cast<T>(EXPRESSION);                                       \
    }                                                                          \
  };
TILE_REDUCE(Sum, static_cast<uint32_t>(a) + static_cast<uint32_t>(b))
TILE_REDUCE(Least, std::min(a, b))
TILE_REDUCE(Most, std::max(a, b))
TILE_REDUCE(Both, a &b)
TILE_REDUCE(Either, a | b)
TILE_REDUCE(Odd, a ^ b)
#undef TILE_REDUCE

} // namespace

bool Exchange::isWhole(const Warp &warp, const Lanes &lanes) const {
  const uint32_t *masks = lanes.at<uint32_t>(members);
  uint32_t mask = masks[__builtin_ctz(lanes.active)];
  for (int lane = 0; lane < LANES; ++lane)
    if (lanes.active >> lane & 1 && masks[lane] != mask)
      return false;
  return (mask & warp.live) == lanes.active && !(lanes.active & ~mask);
}

void Exchange::act(Warp &warp, Lanes &lanes) const {
  uint32_t results[LANES];
  int from[LANES];
  std::fill_n(from, LANES, -1);
  if (function)
    function(*this, lanes, results, from);
  for (int lane = 0; lane < LANES; ++lane)
    if (lanes.active >> lane & 1 && from[lane] >= 0 &&
        !(lanes.active >> (from[lane] & 31) & 1))
      warp.cluster.reporter->report(
          "value_of_absent_lane",
          {warp.thread0 + lane, from[lane], lanes.active});
  warp.cluster.orderLanes(warp, lanes.active, rows);
  if (target < 0 && predicate < 0)
    return;
  for (int lane = 0; lane < LANES; ++lane) {
    if (!(lanes.active >> lane & 1))
      continue;
    if (targetIsPredicate)
      lanes.at<uint8_t>(target)[lane] = results[lane] != 0;
    else if (target >= 0)
      lanes.at<uint32_t>(target)[lane] = results[lane];
    if (predicate >= 0)
      lanes.at<uint8_t>(predicate)[lane] = from[lane] >= 0;
  }
}

ExchangeFunction findExchange(const std::string &name) {
  static const std::unordered_map<std::string, ExchangeFunction> table = {
      {"shfl.up", shuffle<Shuffle::Up>},
      {"shfl.down", shuffle<Shuffle::Down>},
      {"shfl.bfly", shuffle<Shuffle::Butterfly>},
      {"shfl.idx", shuffle<Shuffle::Index>},
      {"vote.all", vote<Vote::All>},
      {"vote.any", vote<Vote::Any>},
      {"vote.uni", vote<Vote::Uniform>},
      {"vote.ballot", vote<Vote::Ballot>},
      {"redux.add", reduce<uint32_t, Sum>},
      {"redux.and", reduce<uint32_t, Both>},
      {"redux.or", reduce<uint32_t, Either>},
      {"redux.xor", reduce<uint32_t, Odd>},
      {"redux.min.u32", reduce<uint32_t, Least>},
      {"redux.max.u32", reduce<uint32_t, Most>},
      {"redux.min.s32", reduce<int32_t, Least>},
      {"redux.max.s32", reduce<int32_t, Most>},
  };
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace tile_emulator
