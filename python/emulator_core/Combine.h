// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What atomics and reductions make of the bytes in memory and their operands.
#pragma once

#include <cstdint>
#include <string>

namespace tile_emulator {

// Gives the new bytes of one element; `c` is that of a compare-and-swap alone.
using Combine = void (*)(const uint8_t *old, const uint8_t *b, const uint8_t *c,
                         uint8_t *result);

// The function of an operation, as `add`, on a type, as `f16x2`; null where
// there is none.
Combine findCombine(const std::string &operation, const std::string &type);

} // namespace tile_emulator
