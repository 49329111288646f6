// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Combine.h"

#include "Half.h"
#include "Operations.h"

#include <algorithm>
#include <type_traits>
#include <unordered_map>

namespace tile_emulator {
namespace {

template <class T> T get(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <class T> void put(uint8_t *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

template <class T, class F>
void apply(const uint8_t *old, const uint8_t *b, const uint8_t *,
           uint8_t *result) {
  put<T>(result, F()(get<T>(old), get<T>(b)));
}

template <class T>
void compareAndSwap(const uint8_t *old, const uint8_t *b, const uint8_t *c,
                    uint8_t *result) {
  T value = get<T>(old);
  put<T>(result, value == get<T>(b) ? get<T>(c) : value);
}

#define TILE_COMBINE(NAME, EXPRESSION)                                         \
  struct NAME {                                                                \
    template <class T> T operator()(T old, T b) const {                        \
      return static_cast<T>(EXPRESSION);                                       \
    }                                                                          \
  };
TILE_COMBINE(Exchange, ((void)old, b))
TILE_COMBINE(Add, old + b)
TILE_COMBINE(Min, std::min(old, b))
TILE_COMBINE(Max, std::max(old, b))
TILE_COMBINE(And, old &b)
TILE_COMBINE(Or, old | b)
TILE_COMBINE(Xor, old ^ b)
TILE_COMBINE(Increment, old >= b ? 0 : old + 1)
TILE_COMBINE(Decrement, old == 0 || old > b ? b : old - 1)
// A number wins over NaN, and the old value over one that is equal.
TILE_COMBINE(MinFloat, old <= b || std::isnan(b) ? old : b)
TILE_COMBINE(MaxFloat, old >= b || std::isnan(b) ? old : b)
#undef TILE_COMBINE

// f32 and the 16-bit types have one NaN; of f64 the first operand's is kept.
template <class F> struct OfF32 {
  uint32_t operator()(uint32_t old, uint32_t b) const {
    float value = F()(floatOfBits(old), floatOfBits(b));
    return std::isnan(value) ? 0x7fffffff : bitsOfFloat(value);
  }
};
template <class F> struct OfF64 {
  double operator()(double old, double b) const { return F()(old, b); }
};
struct AddF64 {
  double operator()(double old, double b) const {
    double sum = old + b;
    if (!std::isnan(sum))
      return sum;
    uint64_t bits = 0xfff8000000000000;
    const double *nan = std::isnan(old) ? &old : std::isnan(b) ? &b : nullptr;
    if (nan) {
      std::memcpy(&bits, nan, sizeof(bits));
      bits |= uint64_t(1) << 51;
    }
    std::memcpy(&sum, &bits, sizeof(sum));
    return sum;
  }
};
template <class F> struct OfF16 {
  uint16_t operator()(uint16_t old, uint16_t b) const {
    return roundToNearest16<10>(F()(widenF16(old), widenF16(b)));
  }
};
template <class F> struct OfBf16 {
  uint16_t operator()(uint16_t old, uint16_t b) const {
    return roundToNearest16<7>(F()(widenBf16(old), widenBf16(b)));
  }
};
template <class F> struct InHalves {
  uint32_t operator()(uint32_t old, uint32_t b) const {
    uint32_t low = F()(static_cast<uint16_t>(old), static_cast<uint16_t>(b));
    uint32_t high =
        F()(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16));
    return low | high << 16;
  }
};

using Table = std::unordered_map<std::string, Combine>;

template <class T> void addBits(Table &table, const std::string &type) {
  table["exch." + type] = apply<T, Exchange>;
  table["cas." + type] = compareAndSwap<T>;
  table["and." + type] = apply<T, And>;
  table["or." + type] = apply<T, Or>;
  table["xor." + type] = apply<T, Xor>;
}
template <class T, class Ordered>
void addNumbers(Table &table, const std::string &type) {
  addBits<T>(table, type);
  table["add." + type] = apply<T, Add>;
  table["inc." + type] = apply<T, Increment>;
  table["dec." + type] = apply<T, Decrement>;
  table["min." + type] = apply<Ordered, Min>;
  table["max." + type] = apply<Ordered, Max>;
}
template <class T, template <class> class Of, class Sum>
void addFloats(Table &table, const std::string &type) {
  table["exch." + type] =
      apply<std::conditional_t<std::is_same<T, double>::value, uint64_t, T>,
            Exchange>;
  table["add." + type] = apply<T, Sum>;
  table["min." + type] = apply<T, Of<MinFloat>>;
  table["max." + type] = apply<T, Of<MaxFloat>>;
}

Table makeTable() {
  Table table;
  addNumbers<uint16_t, uint16_t>(table, "u16");
  addNumbers<uint16_t, int16_t>(table, "s16");
  addNumbers<uint16_t, uint16_t>(table, "b16");
  addNumbers<uint32_t, uint32_t>(table, "u32");
  addNumbers<uint32_t, int32_t>(table, "s32");
  addNumbers<uint32_t, uint32_t>(table, "b32");
  addNumbers<uint64_t, uint64_t>(table, "u64");
  addNumbers<uint64_t, int64_t>(table, "s64");
  addNumbers<uint64_t, uint64_t>(table, "b64");
  addFloats<uint32_t, OfF32, OfF32<Add>>(table, "f32");
  addFloats<double, OfF64, AddF64>(table, "f64");
  addFloats<uint16_t, OfF16, OfF16<Add>>(table, "f16");
  addFloats<uint16_t, OfBf16, OfBf16<Add>>(table, "bf16");
  table["exch.f16x2"] = table["exch.bf16x2"] = apply<uint32_t, Exchange>;
  table["add.f16x2"] = apply<uint32_t, InHalves<OfF16<Add>>>;
  table["min.f16x2"] = apply<uint32_t, InHalves<OfF16<MinFloat>>>;
  table["max.f16x2"] = apply<uint32_t, InHalves<OfF16<MaxFloat>>>;
  table["add.bf16x2"] = apply<uint32_t, InHalves<OfBf16<Add>>>;
  table["min.bf16x2"] = apply<uint32_t, InHalves<OfBf16<MinFloat>>>;
  table["max.bf16x2"] = apply<uint32_t, InHalves<OfBf16<MaxFloat>>>;
  return table;
}

} // namespace

Combine findCombine(const std::string &operation, const std::string &type) {
  static const Table table = makeTable();
  auto found = table.find(operation + "." + type);
  return found == table.end() ? nullptr : found->second;
}

} // namespace tile_emulator
