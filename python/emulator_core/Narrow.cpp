// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic of f16 and bf16, alone and in pairs, and approximate functions.
#include "Elementwise.h"
#include "Half.h"

#include <cmath>

namespace tile_emulator {
namespace {

struct F16 {
  static float widen(uint16_t bits) { return widenF16(bits); }
  static uint16_t narrow(double exact) { return roundToNearest16<10>(exact); }
};
struct Bf16 {
  static float widen(uint16_t bits) { return widenBf16(bits); }
  static uint16_t narrow(double exact) { return roundToNearest16<7>(exact); }
};

// A sum that is not exact in binary64 keeps a last bit that says so, from which
// one more rounding gives what is nearest to the exact sum.
double addToOdd(double a, double b) {
  double sum = a + b, part = sum - a;
  double error = (a - (sum - part)) + (b - part);
  if (error == 0 || !std::isfinite(sum) || !std::isfinite(error))
    return sum;
  int64_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  bits = (bits - ((error < 0) != (sum < 0))) | 1;
  std::memcpy(&sum, &bits, sizeof(sum));
  return sum;
}

struct AddNarrow {
  double operator()(double a, double b, double) const { return addToOdd(a, b); }
};
struct SubNarrow {
  double operator()(double a, double b, double) const {
    return addToOdd(a, -b);
  }
};
struct MulNarrow {
  double operator()(double a, double b, double) const { return a * b; }
};
struct FmaNarrow {
  double operator()(double a, double b, double c) const {
    return addToOdd(a * b, c);
  }
};
// -0 is below +0; without NAN_WINS a number wins over NaN.
template <bool LEAST, bool NAN_WINS, bool XOR_SIGN> struct ExtremeNarrow {
  double operator()(double a, double b, double) const {
    bool flip = std::signbit(a) != std::signbit(b);
    if (XOR_SIGN) {
      a = std::fabs(a);
      b = std::fabs(b);
    }
    double value;
    if (std::isnan(a) || std::isnan(b))
      value =
          (std::isnan(a) && std::isnan(b)) || std::isnan(a) == NAN_WINS ? a : b;
    else if (a == b)
      value = LEAST == std::signbit(a) ? a : b;
    else
      value = (a < b) == LEAST ? a : b;
    return XOR_SIGN ? std::copysign(value, flip ? -1.0 : 1.0) : value;
  }
};
struct SatNarrow {
  double operator()(double a, double, double) const {
    return a > 0 ? (a < 1 ? a : 1.0) : 0.0;
  }
};
struct ReluNarrow {
  double operator()(double a, double, double) const {
    return std::isnan(a) || a > 0 ? a : 0.0;
  }
};
#define TILE_APPROXIMATE(NAME, EXPRESSION)                                     \
  struct NAME {                                                                \
    double operator()(double a, double, double) const { return EXPRESSION; }   \
  };
TILE_APPROXIMATE(Rsqrt, 1 / std::sqrt(a))
TILE_APPROXIMATE(Sin, std::sin(a))
TILE_APPROXIMATE(Cos, std::cos(a))
TILE_APPROXIMATE(Lg2, std::log2(a))
TILE_APPROXIMATE(Ex2, std::exp2(a))
TILE_APPROXIMATE(Tanh, std::tanh(a))
#undef TILE_APPROXIMATE

// A register of T is COUNT elements for each lane.
template <class T, class Format, class F>
void narrow(const Operation &op, Lanes &lanes) {
  constexpr int COUNT = LANES * sizeof(T) / sizeof(uint16_t);
  const uint16_t *a = lanes.at<uint16_t>(op.sources[0]),
                 *b = lanes.at<uint16_t>(op.sources[1]),
                 *c = lanes.at<uint16_t>(op.sources[2]);
  uint16_t results[COUNT];
  for (int i = 0; i < COUNT; ++i)
    results[i] = Format::narrow(
        F()(Format::widen(a[i]), Format::widen(b[i]), Format::widen(c[i])));
  T values[LANES];
  std::memcpy(values, results, sizeof(values));
  put(op, lanes, values);
}

// In binary64, then rounded: within the manual's bounds, and not bit for bit
// what the hardware gives.
template <class T, class F> struct Approximate {
  T operator()(T a) const {
    double value = F()(a, 0, 0);
    if (sizeof(T) == 4 && std::isnan(value))
      return static_cast<T>(floatOfBits(0x7fffffff));
    return static_cast<T>(value);
  }
};
struct Relu {
  float operator()(float a) const {
    return std::isnan(a) ? floatOfBits(0x7fffffff) : a > 0 ? a : 0.0f;
  }
};

template <class T, class Format>
void addNarrow(Table &table, const std::string &type) {
  table["add." + type] = narrow<T, Format, AddNarrow>;
  table["sub." + type] = narrow<T, Format, SubNarrow>;
  table["mul." + type] = narrow<T, Format, MulNarrow>;
  table["fma." + type] = narrow<T, Format, FmaNarrow>;
  table["sat." + type] = narrow<T, Format, SatNarrow>;
  table["relu." + type] = narrow<T, Format, ReluNarrow>;
  table["min." + type] = narrow<T, Format, ExtremeNarrow<true, false, false>>;
  table["max." + type] = narrow<T, Format, ExtremeNarrow<false, false, false>>;
  table["min.NaN." + type] =
      narrow<T, Format, ExtremeNarrow<true, true, false>>;
  table["max.NaN." + type] =
      narrow<T, Format, ExtremeNarrow<false, true, false>>;
  table["min.xorsign." + type] =
      narrow<T, Format, ExtremeNarrow<true, false, true>>;
  table["max.xorsign." + type] =
      narrow<T, Format, ExtremeNarrow<false, false, true>>;
  table["min.NaN.xorsign." + type] =
      narrow<T, Format, ExtremeNarrow<true, true, true>>;
  table["max.NaN.xorsign." + type] =
      narrow<T, Format, ExtremeNarrow<false, true, true>>;
  table["ex2." + type] = narrow<T, Format, Ex2>;
  table["tanh." + type] = narrow<T, Format, Tanh>;
}

} // namespace

void addNarrowFloats(Table &table) {
  addNarrow<uint16_t, F16>(table, "f16");
  addNarrow<uint32_t, F16>(table, "f16x2");
  addNarrow<uint16_t, Bf16>(table, "bf16");
  addNarrow<uint32_t, Bf16>(table, "bf16x2");
  table["relu.f32"] = unary<float, float, Relu>;
  table["rsqrt.f32"] = unary<float, float, Approximate<float, Rsqrt>>;
  table["rsqrt.f64"] = unary<double, double, Approximate<double, Rsqrt>>;
  table["sin.f32"] = unary<float, float, Approximate<float, Sin>>;
  table["cos.f32"] = unary<float, float, Approximate<float, Cos>>;
  table["lg2.f32"] = unary<float, float, Approximate<float, Lg2>>;
  table["ex2.f32"] = unary<float, float, Approximate<float, Ex2>>;
  table["tanh.f32"] = unary<float, float, Approximate<float, Tanh>>;
}

} // namespace tile_emulator
