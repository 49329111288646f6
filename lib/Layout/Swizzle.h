// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// XOR swizzles of element offsets, as CuTe's `Swizzle<bits, base, shift>` does
// them.
#ifndef TILE_LAYOUT_SWIZZLE_H
#define TILE_LAYOUT_SWIZZLE_H

#include <cstdint>
#include <optional>

namespace tile::layout {

/// XORs `bits` bits of an offset, from bit `base` on, with those `shift` places
/// above them. It is its own inverse, since `shift >= bits` keeps the bits that
/// it reads as they are.
struct Swizzle {
  int64_t bits;
  int64_t base;
  int64_t shift;

  int64_t apply(int64_t offset) const {
    int64_t mask = (int64_t(1) << bits) - 1;
    return offset ^ (((offset >> (base + shift)) & mask) << base);
  }
  /// Moving an offset by a multiple of the period moves its place by as much.
  int64_t period() const { return int64_t(1) << (bits + base + shift); }
  /// Elements that stay together in order.
  int64_t unit() const { return int64_t(1) << base; }
  /// Aligned blocks of so many elements are permuted in themselves.
  int64_t block() const { return int64_t(1) << (bits + base); }

  bool operator==(const Swizzle &other) const {
    return bits == other.bits && base == other.base && shift == other.shift;
  }
};

/// Offsets below 2^30 are all that shared memory needs, and keep enumerations
/// short.
constexpr int64_t kMaxSwizzleBits = 30;

/// The swizzle without its lowest `count` bits: where whole blocks of them are
/// moved, what happens inside the blocks does not matter. Nothing if no bit is
/// left.
inline std::optional<Swizzle> withoutLowBits(const Swizzle &swizzle,
                                             int64_t count) {
  if (count >= swizzle.bits)
    return std::nullopt;
  return Swizzle{swizzle.bits - count, swizzle.base + count, swizzle.shift};
}

inline int64_t applyTo(const std::optional<Swizzle> &swizzle, int64_t offset) {
  return swizzle ? swizzle->apply(offset) : offset;
}

} // namespace tile::layout

#endif // TILE_LAYOUT_SWIZZLE_H
