// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How an operation on one element becomes one on 32 lanes.
#pragma once

#include "Operations.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>

namespace tile_emulator {

using Table = std::unordered_map<std::string, Function>;

// Each file of operations adds its own.
void addBitOperations(Table &table);
void addNarrowFloats(Table &table);
void addFloatConversions(Table &table);

// Predicates are bytes of 0 and 1.
struct Bit {
  uint8_t value;
};

// Arithmetic that wraps, without the promotion of narrow types to int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> Wrapping<T> wrap(T value) {
  return static_cast<Wrapping<T>>(value);
}

template <class T>
void put(const Operation &op, Lanes &lanes, const T *values) {
  T *target = lanes.at<T>(op.target);
  if (lanes.active == FULL || op.whole) {
    std::memcpy(target, values, sizeof(T) * LANES);
    return;
  }
  for (int lane = 0; lane < LANES; ++lane)
    target[lane] = lanes.on[lane] ? values[lane] : target[lane];
}

template <class R, class A, class F>
void unary(const Operation &op, Lanes &lanes) {
  const A *a = lanes.at<A>(op.sources[0]);
  R values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = F()(a[lane]);
  put(op, lanes, values);
}

template <class R, class A, class F, class B = A>
void binary(const Operation &op, Lanes &lanes) {
  const A *a = lanes.at<A>(op.sources[0]);
  const B *b = lanes.at<B>(op.sources[1]);
  R values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = F()(a[lane], b[lane]);
  put(op, lanes, values);
}

template <class R, class A, class F>
void ternary(const Operation &op, Lanes &lanes) {
  const A *a = lanes.at<A>(op.sources[0]), *b = lanes.at<A>(op.sources[1]),
          *c = lanes.at<A>(op.sources[2]);
  R values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = F()(a[lane], b[lane], c[lane]);
  put(op, lanes, values);
}

} // namespace tile_emulator
