// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions from and to floats, each rounded once.
#include "Elementwise.h"
#include "Half.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace tile_emulator {
namespace {

constexpr int HOST_MODES[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                              FE_UPWARD};

// f32 has one NaN; that of f64 keeps its bits.
float quiet(float value) {
  return std::isnan(value) ? floatOfBits(0x7fffffff) : value;
}
double quiet(double value) { return std::isnan(value) ? value + value : value; }

// The mode is set around a call that cannot be inlined, so that no conversion
// moves across.
template <class R, class A>
__attribute__((noinline)) void castLanes(const A *a, R *values) {
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = static_cast<R>(a[lane]);
}
template <class R, class A, Rounding MODE>
void cast(const Operation &op, Lanes &lanes) {
  R values[LANES];
  std::fesetround(HOST_MODES[static_cast<int>(MODE)]);
  castLanes(lanes.at<A>(op.sources[0]), values);
  std::fesetround(FE_TONEAREST);
  for (R &value : values)
    value = quiet(value);
  put(op, lanes, values);
}

// What binary64 cannot hold keeps a last bit that says so.
template <class A> double inF64(A value) {
  if constexpr (std::is_floating_point<A>::value || sizeof(A) < 8) {
    return static_cast<double>(value);
  } else {
    bool negative = value < 0;
    uint64_t magnitude = negative ? uint64_t(0) - static_cast<uint64_t>(value)
                                  : static_cast<uint64_t>(value);
    double result = static_cast<double>(magnitude);
    if (magnitude >> 53) {
      uint64_t kept = magnitude >> 11;
      kept |= (magnitude & 0x7ff) != 0;
      result = static_cast<double>(kept) * 0x1p11;
    }
    return negative ? -result : result;
  }
}
template <int FRACTION_BITS, class A, Rounding MODE>
void to16(const Operation &op, Lanes &lanes) {
  const A *a = lanes.at<A>(op.sources[0]);
  uint16_t values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = roundTo16<FRACTION_BITS>(inF64(a[lane]), MODE);
  put(op, lanes, values);
}

struct WidenF16 {
  float operator()(uint16_t a) const { return widenF16(a); }
};
struct WidenBf16 {
  float operator()(uint16_t a) const { return widenBf16(a); }
};

// To an integral value.
template <Rounding MODE> double integral(double value) {
  switch (MODE) {
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  default:
    return std::ceil(value);
  }
}
template <Rounding MODE> struct Integral {
  template <class T> T operator()(T a) const {
    return quiet(static_cast<T>(integral<MODE>(a)));
  }
};

// Clamped to the range; NaN gives 0, or the highest bit where f64 or 64 bits
// take part.
template <class R, Rounding MODE> struct ToInteger {
  template <class A> R operator()(A a) const {
    constexpr R LOW = std::numeric_limits<R>::min(),
                HIGH = std::numeric_limits<R>::max();
    double value = integral<MODE>(a);
    if (std::isnan(value))
      return sizeof(A) == 8 || sizeof(R) == 8
                 ? static_cast<R>(std::make_unsigned_t<R>(1)
                                  << (8 * sizeof(R) - 1))
                 : R(0);
    if (value >= static_cast<double>(HIGH))
      return HIGH;
    if (value <= static_cast<double>(LOW))
      return LOW;
    return static_cast<R>(value);
  }
};

// The greatest finite number for what is above (`.satfinite`).
template <int FRACTION_BITS, int EXPONENT> struct Finite {
  template <class T> T operator()(T a) const {
    const T greatest = static_cast<T>(
        std::ldexp(2 - std::ldexp(1.0, -FRACTION_BITS), EXPONENT));
    return a > greatest ? greatest : a < -greatest ? -greatest : a;
  }
};

// tf32 is f32 with 10 bits of fraction; Away is nearest, with ties away from 0.
enum class TF32 { Away, Nearest, Zero };
template <TF32 MODE> struct ToTf32 {
  uint32_t operator()(uint32_t bits) const {
    if ((bits & 0x7fffffff) > 0x7f800000)
      return 0x7fffffff;
    if ((bits & 0x7fffffff) == 0x7f800000)
      return bits;
    uint32_t more = MODE == TF32::Away      ? 0x1000
                    : MODE == TF32::Nearest ? 0xfff + (bits >> 13 & 1)
                                            : 0;
    return (bits + more) & 0xffffe000;
  }
};

template <class A, Rounding MODE>
void addTo(Table &table, const std::string &type, const std::string &mode) {
  table["cvt." + mode + ".f16." + type] = to16<10, A, MODE>;
  table["cvt." + mode + ".bf16." + type] = to16<7, A, MODE>;
  table["cvt." + mode + ".f32." + type] = cast<float, A, MODE>;
  table["cvt." + mode + ".f64." + type] = cast<double, A, MODE>;
}
template <class A> void addFrom(Table &table, const std::string &type) {
  addTo<A, Rounding::Nearest>(table, type, "rn");
  addTo<A, Rounding::Zero>(table, type, "rz");
  addTo<A, Rounding::Down>(table, type, "rm");
  addTo<A, Rounding::Up>(table, type, "rp");
}
template <class R, Rounding MODE>
void addToInteger(Table &table, const std::string &type,
                  const std::string &mode) {
  table["cvt." + mode + "." + type + ".f32"] =
      unary<R, float, ToInteger<R, MODE>>;
  table["cvt." + mode + "." + type + ".f64"] =
      unary<R, double, ToInteger<R, MODE>>;
}
template <Rounding MODE> void addMode(Table &table, const std::string &mode) {
  addToInteger<uint8_t, MODE>(table, "u8", mode);
  addToInteger<int8_t, MODE>(table, "s8", mode);
  addToInteger<uint16_t, MODE>(table, "u16", mode);
  addToInteger<int16_t, MODE>(table, "s16", mode);
  addToInteger<uint32_t, MODE>(table, "u32", mode);
  addToInteger<int32_t, MODE>(table, "s32", mode);
  addToInteger<uint64_t, MODE>(table, "u64", mode);
  addToInteger<int64_t, MODE>(table, "s64", mode);
  table[mode + ".f32"] = unary<float, float, Integral<MODE>>;
  table[mode + ".f64"] = unary<double, double, Integral<MODE>>;
}

} // namespace

void addFloatConversions(Table &table) {
  table["widen.f16"] = unary<float, uint16_t, WidenF16>;
  table["widen.bf16"] = unary<float, uint16_t, WidenBf16>;
  addFrom<float>(table, "f32");
  addFrom<double>(table, "f64");
  addFrom<uint8_t>(table, "u8");
  addFrom<int8_t>(table, "s8");
  addFrom<uint16_t>(table, "u16");
  addFrom<int16_t>(table, "s16");
  addFrom<uint32_t>(table, "u32");
  addFrom<int32_t>(table, "s32");
  addFrom<uint64_t>(table, "u64");
  addFrom<int64_t>(table, "s64");
  addMode<Rounding::Nearest>(table, "rni");
  addMode<Rounding::Zero>(table, "rzi");
  addMode<Rounding::Down>(table, "rmi");
  addMode<Rounding::Up>(table, "rpi");
  table["finite.f16"] = unary<float, float, Finite<10, 15>>;
  table["finite.bf16"] = unary<float, float, Finite<7, 127>>;
  table["finite.tf32"] = unary<float, float, Finite<10, 127>>;
  table["tf32.rna"] = unary<uint32_t, uint32_t, ToTf32<TF32::Away>>;
  table["tf32.rn"] = unary<uint32_t, uint32_t, ToTf32<TF32::Nearest>>;
  table["tf32.rz"] = unary<uint32_t, uint32_t, ToTf32<TF32::Zero>>;
}

} // namespace tile_emulator
