// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on the registers of a warp: each reads and writes 32 lanes.
#pragma once

#include <cstdint>
#include <string>

namespace tile_emulator {

constexpr int LANES = 32;
constexpr uint32_t FULL = 0xffffffffu;
// A register has this many bytes whatever its width, so that a slot's number
// gives its place.
constexpr int REGISTER_BYTES = 8 * LANES;

struct Lanes {
  uint8_t *registers = nullptr;
  uint32_t active = FULL;
  // The lanes of `active` one by one, kept while it is not FULL.
  alignas(LANES) uint8_t on[LANES] = {};

  template <class T> T *at(int slot) const {
    return reinterpret_cast<T *>(registers +
                                 static_cast<int64_t>(slot) * REGISTER_BYTES);
  }

  void setActive(uint32_t bits) {
    active = bits;
    if (bits != FULL)
      for (int lane = 0; lane < LANES; ++lane)
        on[lane] = bits >> lane & 1;
  }

  // The lanes in which the predicate in `slot` holds.
  uint32_t holds(int slot) const {
    const uint8_t *values = at<uint8_t>(slot);
    uint32_t bits = 0;
    for (int lane = 0; lane < LANES; ++lane)
      bits |= static_cast<uint32_t>(values[lane] != 0) << lane;
    return bits;
  }
};

struct Operation;
using Function = void (*)(const Operation &, Lanes &);

struct Operation {
  Function function = nullptr;
  int32_t target = 0;
  int32_t sources[4] = {};
  // What an operation needs besides registers: the position of a part, a table.
  int32_t number = 0;
  // Whether inactive lanes are written too: the target is a temporary of one
  // instruction.
  bool whole = false;
};

// The function of an operation by its name, as `add.32` or `fma.rz.f64`; null
// where there is none.
Function findFunction(const std::string &name);

} // namespace tile_emulator
