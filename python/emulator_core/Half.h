// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 16-bit floats, which C++17 has not: f16 and bf16, as bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tile_emulator {

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float widenBf16(uint16_t bits) {
  return floatOfBits(static_cast<uint32_t>(bits) << 16);
}

inline float widenF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return floatOfBits(sign | 0x7f800000 | fraction << 13);
  if (exponent)
    return floatOfBits(sign | (exponent + 112) << 23 | fraction << 13);
  float value = static_cast<float>(fraction) * 0x1p-24f;
  return floatOfBits(sign | bitsOfFloat(value));
}

enum class Rounding { Nearest, Zero, Down, Up };

// Rounds a number to f16 (10 bits of fraction) or bf16 (7), to nearest even.
template <int FRACTION_BITS> uint16_t roundToNearest16(double value) {
  constexpr int LOWEST = FRACTION_BITS == 10 ? -14 : -126;
  constexpr int SHIFT = 52 - FRACTION_BITS, BIAS = 1023;
  constexpr int64_t INFINITE = FRACTION_BITS == 10 ? 0x7c00 : 0x7f80;
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint64_t sign = bits >> 48 & 0x8000;
  bits &= ~(uint64_t(1) << 63);
  if (bits > uint64_t(0x7ff) << 52)
    return 0x7fff;
  if (static_cast<int>(bits >> 52) < BIAS + LOWEST) {
    // The last bit of such a sum is the unit of subnormal numbers.
    const uint64_t unit = static_cast<uint64_t>(BIAS + LOWEST + SHIFT) << 52;
    double sum;
    std::memcpy(&sum, &unit, sizeof(sum));
    sum += std::fabs(value);
    std::memcpy(&bits, &sum, sizeof(bits));
    return static_cast<uint16_t>(sign | (bits - unit));
  }
  bits += (uint64_t(1) << (SHIFT - 1)) - 1 + (bits >> SHIFT & 1);
  int64_t result = static_cast<int64_t>(bits >> SHIFT) -
                   (static_cast<int64_t>(BIAS + LOWEST - 1) << FRACTION_BITS);
  return static_cast<uint16_t>(sign | (result < INFINITE ? result : INFINITE));
}

// The same in any mode.
template <int FRACTION_BITS> uint16_t roundTo16(double value, Rounding mode) {
  if (mode == Rounding::Nearest || !std::isfinite(value) || value == 0)
    return roundToNearest16<FRACTION_BITS>(value);
  constexpr int LOWEST = FRACTION_BITS == 10 ? -14 : -126;
  constexpr int64_t INFINITE = FRACTION_BITS == 10 ? 0x7c00 : 0x7f80;
  const bool negative = std::signbit(value);
  const bool away = mode == (negative ? Rounding::Down : Rounding::Up);
  // The number in units of the last bit that it may have.
  int exponent = std::ilogb(value);
  exponent = exponent < LOWEST ? LOWEST : exponent;
  double units = std::ldexp(std::fabs(value), FRACTION_BITS - exponent);
  double whole = std::floor(units);
  int64_t bits = (static_cast<int64_t>(exponent - LOWEST) << FRACTION_BITS) +
                 static_cast<int64_t>(whole) + (away && units > whole);
  if (bits >= INFINITE)
    bits = away ? INFINITE : INFINITE - 1;
  return static_cast<uint16_t>((negative ? 0x8000 : 0) | bits);
}

} // namespace tile_emulator
