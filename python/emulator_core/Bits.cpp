// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shifts, bit fields, bytes and truth tables of integers.
#include "Elementwise.h"

#include <algorithm>

namespace tile_emulator {
namespace {

template <class T> constexpr int BITS = 8 * sizeof(T);

template <class T> int bitLength(T value) {
  return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

struct CountOnes {
  template <class T> uint32_t operator()(T a) const {
    return __builtin_popcountll(a);
  }
};
struct LeadingZeros {
  template <class T> uint32_t operator()(T a) const {
    return BITS<T> - bitLength(a);
  }
};
struct Reverse {
  template <class T> T operator()(T a) const {
    T result = 0;
    for (int bit = 0; bit < BITS<T>; ++bit)
      result = static_cast<T>(result << 1 | (a >> bit & 1));
    return result;
  }
};
// The highest bit that differs from the sign, or how far it is from the top; -1
// where there is none.
template <bool DISTANCE> struct FindBit {
  template <class T> uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U bits = static_cast<U>(a < 0 ? ~a : a);
    int position = bitLength(bits) - 1;
    return DISTANCE && position >= 0 ? BITS<T> - 1 - position : position;
  }
};

template <bool LEFT, bool WRAP> struct Funnel {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t amount) const {
    int n = WRAP ? amount & 31 : std::min<uint32_t>(amount, 32);
    uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<uint32_t>(LEFT ? both << n >> 32 : both >> n);
  }
};

// Bits `start` to `start + length`, of which those above the top are the sign's
// or 0.
template <class T> T extractField(T a, int start, int length) {
  using U = std::make_unsigned_t<T>;
  int inside = std::min(length, std::max(0, BITS<T> - start));
  U mask = inside == BITS<T> ? ~U(0) : (U(1) << inside) - 1;
  U field = inside ? static_cast<U>(a) >> start & mask : 0;
  if (std::is_signed<T>::value && length &&
      static_cast<U>(a) >> std::min(start + length - 1, BITS<T> - 1) & 1)
    field |= ~mask;
  return static_cast<T>(field);
}
template <class T> T insertField(T a, T base, int start, int length) {
  if (start >= BITS<T>)
    return base;
  T ones = length >= BITS<T> ? ~T(0) : (T(1) << length) - 1;
  T mask = ones << start;
  return (base & ~mask) | (a << start & mask);
}
template <class T> void bitFieldExtract(const Operation &op, Lanes &lanes) {
  const T *a = lanes.at<T>(op.sources[0]);
  const uint32_t *start = lanes.at<uint32_t>(op.sources[1]),
                 *length = lanes.at<uint32_t>(op.sources[2]);
  T values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = extractField(a[lane], static_cast<int>(start[lane] & 0xff),
                                static_cast<int>(length[lane] & 0xff));
  put(op, lanes, values);
}
template <class T> void bitFieldInsert(const Operation &op, Lanes &lanes) {
  const T *a = lanes.at<T>(op.sources[0]), *base = lanes.at<T>(op.sources[1]);
  const uint32_t *start = lanes.at<uint32_t>(op.sources[2]),
                 *length = lanes.at<uint32_t>(op.sources[3]);
  T values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] =
        insertField(a[lane], base[lane], static_cast<int>(start[lane] & 0xff),
                    static_cast<int>(length[lane] & 0xff));
  put(op, lanes, values);
}

uint32_t ones(uint32_t count) {
  return static_cast<uint32_t>((uint64_t(1) << std::min(count, 32u)) - 1);
}
template <bool WRAP> struct BitMask {
  uint32_t operator()(uint32_t start, uint32_t length) const {
    start = WRAP ? start & 31 : std::min(start, 32u);
    uint64_t field = ones(WRAP ? length & 31 : length);
    return static_cast<uint32_t>(field << start);
  }
};
template <bool WRAP, bool SIGNED> struct ExtendSign {
  uint32_t operator()(uint32_t a, uint32_t length) const {
    length = WRAP ? length & 31 : std::min(length, 32u);
    uint32_t field = ones(length), value = a & field;
    bool negative = SIGNED && length && a >> (length - 1) & 1;
    return negative ? value | ~field : value;
  }
};

// Bytes of two registers, by a nibble for each of the result: bit 3 spreads the
// sign.
struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selector) const {
    uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t nibble = selector >> 4 * i & 15;
      uint32_t byte = both >> 8 * (nibble & 7) & 0xff;
      if (nibble & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * i;
    }
    return result;
  }
};

// `number` is a truth table.
void lookup3(const Operation &op, Lanes &lanes) {
  const uint32_t *a = lanes.at<uint32_t>(op.sources[0]),
                 *b = lanes.at<uint32_t>(op.sources[1]),
                 *c = lanes.at<uint32_t>(op.sources[2]);
  uint32_t values[LANES] = {};
  for (int row = 0; row < 8; ++row)
    if (op.number >> row & 1)
      for (int lane = 0; lane < LANES; ++lane)
        values[lane] |= (row & 4 ? a[lane] : ~a[lane]) &
                        (row & 2 ? b[lane] : ~b[lane]) &
                        (row & 1 ? c[lane] : ~c[lane]);
  put(op, lanes, values);
}

// The lanes that execute it.
void activeMask(const Operation &op, Lanes &lanes) {
  uint32_t values[LANES];
  std::fill_n(values, LANES, lanes.active);
  put(op, lanes, values);
}

template <class A, class B> struct Dot4 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (int i = 0; i < 4; ++i)
      c += static_cast<uint32_t>(static_cast<A>(a >> 8 * i) *
                                 static_cast<B>(b >> 8 * i));
    return c;
  }
};

// Two 16-bit numbers in a register.
#define TILE_PAIR(NAME, EXPRESSION)                                            \
  template <class T> struct NAME {                                             \
    static T one(T a, T b) { return static_cast<T>(EXPRESSION); }              \
    uint32_t operator()(uint32_t a, uint32_t b) const {                        \
      uint32_t low =                                                           \
          static_cast<uint16_t>(one(static_cast<T>(a), static_cast<T>(b)));    \
      uint32_t high = static_cast<uint16_t>(                                   \
          one(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));              \
      return low | high << 16;                                                 \
    }                                                                          \
  };
TILE_PAIR(AddPair, a + b)
TILE_PAIR(SubPair, a - b)
TILE_PAIR(MinPair, std::min(a, b))
TILE_PAIR(MaxPair, std::max(a, b))
#undef TILE_PAIR

template <class T> void addCounts(Table &table, const std::string &bits) {
  using S = std::make_signed_t<T>;
  table["popc." + bits] = unary<uint32_t, T, CountOnes>;
  table["clz." + bits] = unary<uint32_t, T, LeadingZeros>;
  table["brev." + bits] = unary<T, T, Reverse>;
  table["bfind.u" + bits] = unary<uint32_t, T, FindBit<false>>;
  table["bfind.s" + bits] = unary<uint32_t, S, FindBit<false>>;
  table["bfind.shiftamt.u" + bits] = unary<uint32_t, T, FindBit<true>>;
  table["bfind.shiftamt.s" + bits] = unary<uint32_t, S, FindBit<true>>;
  table["bfe.u" + bits] = bitFieldExtract<T>;
  table["bfe.s" + bits] = bitFieldExtract<S>;
  table["bfi." + bits] = bitFieldInsert<T>;
}
template <class T> void addPairs(Table &table, const std::string &type) {
  table["add." + type] = binary<uint32_t, uint32_t, AddPair<T>>;
  table["sub." + type] = binary<uint32_t, uint32_t, SubPair<T>>;
  table["min." + type] = binary<uint32_t, uint32_t, MinPair<T>>;
  table["max." + type] = binary<uint32_t, uint32_t, MaxPair<T>>;
}

} // namespace

void addBitOperations(Table &table) {
  using W = uint32_t;
  addCounts<uint32_t>(table, "32");
  addCounts<uint64_t>(table, "64");
  table["shf.l.wrap"] = ternary<W, W, Funnel<true, true>>;
  table["shf.l.clamp"] = ternary<W, W, Funnel<true, false>>;
  table["shf.r.wrap"] = ternary<W, W, Funnel<false, true>>;
  table["shf.r.clamp"] = ternary<W, W, Funnel<false, false>>;
  table["bmsk.wrap"] = binary<W, W, BitMask<true>>;
  table["bmsk.clamp"] = binary<W, W, BitMask<false>>;
  table["szext.wrap.u32"] = binary<W, W, ExtendSign<true, false>>;
  table["szext.wrap.s32"] = binary<W, W, ExtendSign<true, true>>;
  table["szext.clamp.u32"] = binary<W, W, ExtendSign<false, false>>;
  table["szext.clamp.s32"] = binary<W, W, ExtendSign<false, true>>;
  table["prmt"] = ternary<W, W, Permute>;
  table["lop3"] = lookup3;
  table["activemask"] = activeMask;
  table["dp4a.u32.u32"] = ternary<W, W, Dot4<uint8_t, uint8_t>>;
  table["dp4a.u32.s32"] = ternary<W, W, Dot4<uint8_t, int8_t>>;
  table["dp4a.s32.u32"] = ternary<W, W, Dot4<int8_t, uint8_t>>;
  table["dp4a.s32.s32"] = ternary<W, W, Dot4<int8_t, int8_t>>;
  addPairs<uint16_t>(table, "u16x2");
  addPairs<int16_t>(table, "s16x2");
}

} // namespace tile_emulator
