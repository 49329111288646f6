// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Elementwise.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tile_emulator {
namespace {

// Integers

#define TILE_BINARY(NAME, EXPRESSION)                                          \
  struct NAME {                                                                \
    template <class T> T operator()(T a, T b) const {                          \
      return static_cast<T>(EXPRESSION);                                       \
    }                                                                          \
  };
TILE_BINARY(Add, wrap(a) + wrap(b))
TILE_BINARY(Sub, wrap(a) - wrap(b))
TILE_BINARY(Mul, wrap(a) * wrap(b))
TILE_BINARY(And, a &b)
TILE_BINARY(Or, a | b)
TILE_BINARY(Xor, a ^ b)
TILE_BINARY(Min, a < b ? a : b)
TILE_BINARY(Max, a < b ? b : a)
#undef TILE_BINARY

#define TILE_COMPARE(NAME, EXPRESSION)                                         \
  struct NAME {                                                                \
    template <class T> uint8_t operator()(T a, T b) const {                    \
      return EXPRESSION;                                                       \
    }                                                                          \
  };
TILE_COMPARE(Equal, a == b)
TILE_COMPARE(Less, a < b)
TILE_COMPARE(LessEqual, a <= b)
TILE_COMPARE(Greater, a > b)
TILE_COMPARE(GreaterEqual, a >= b)
TILE_COMPARE(NotEqual, a != b)
TILE_COMPARE(LessOrGreater, (a < b) | (a > b))
TILE_COMPARE(EqualUnordered, !((a < b) | (a > b)))
TILE_COMPARE(LessUnordered, !(a >= b))
TILE_COMPARE(LessEqualUnordered, !(a > b))
TILE_COMPARE(GreaterUnordered, !(a <= b))
TILE_COMPARE(GreaterEqualUnordered, !(a < b))
TILE_COMPARE(Ordered, (a == a) & (b == b))
TILE_COMPARE(Unordered, (a != a) | (b != b))
#undef TILE_COMPARE

struct Same {
  template <class T> T operator()(T a) const { return a; }
};
struct Not {
  template <class T> T operator()(T a) const { return static_cast<T>(~a); }
};
struct IsZero {
  template <class T> T operator()(T a) const { return a == 0; }
};
struct Negate {
  template <class T> T operator()(T a) const {
    return static_cast<T>(wrap<T>(0) - wrap(a));
  }
};
struct Absolute {
  template <class T> T operator()(T a) const { return a < 0 ? Negate()(a) : a; }
};
struct Clamp0 {
  template <class T> T operator()(T a) const { return a < 0 ? 0 : a; }
};

template <class W> struct MulWide {
  template <class T> W operator()(T a, T b) const {
    return static_cast<W>(a) * static_cast<W>(b);
  }
};
template <class W> struct MulHigh {
  template <class T> T operator()(T a, T b) const {
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b) >>
                          (8 * sizeof(T)));
  }
};

// By zero as the hardware: all ones, and the dividend.
template <bool REMAINDER> struct Divide {
  template <class T> T operator()(T a, T b) const {
    if (b == 0)
      return REMAINDER ? a : static_cast<T>(~T(0));
    Wrapping<T> x = wrap(a), y = wrap(b);
    if (a < 0)
      x = 0 - x;
    if (b < 0)
      y = 0 - y;
    Wrapping<T> quotient = x / y;
    if ((a < 0) != (b < 0))
      quotient = 0 - quotient;
    return static_cast<T>(REMAINDER ? wrap(a) - quotient * wrap(b) : quotient);
  }
};

template <bool NEGATE> struct AddSaturating {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t sum = NEGATE ? int64_t(a) - b : int64_t(a) + b;
    return static_cast<int32_t>(sum < INT32_MIN   ? INT32_MIN
                                : sum > INT32_MAX ? INT32_MAX
                                                  : sum);
  }
};

struct ShiftLeft {
  template <class T> T operator()(T a, uint32_t by) const {
    constexpr uint32_t BITS = 8 * sizeof(T);
    return by < BITS ? static_cast<T>(wrap(a) << by) : T(0);
  }
};
struct ShiftRight {
  template <class T> T operator()(T a, uint32_t by) const {
    constexpr uint32_t BITS = 8 * sizeof(T);
    if (std::is_signed<T>::value)
      return static_cast<T>(a >> (by < BITS ? by : BITS - 1));
    return by < BITS ? static_cast<T>(a >> by) : T(0);
  }
};

template <class R> struct Cast {
  template <class T> R operator()(T a) const { return static_cast<R>(a); }
};
template <> struct Cast<Bit> {
  template <class T> Bit operator()(T a) const {
    return {static_cast<uint8_t>(a != 0)};
  }
};
template <class R> struct Saturate {
  template <class T> R operator()(T a) const {
    __int128 low = std::numeric_limits<R>::min(),
             high = std::numeric_limits<R>::max(), value = a;
    return static_cast<R>(value < low ? low : value > high ? high : value);
  }
};

template <class T> void select(const Operation &op, Lanes &lanes) {
  const T *a = lanes.at<T>(op.sources[0]), *b = lanes.at<T>(op.sources[1]);
  const uint8_t *which = lanes.at<uint8_t>(op.sources[2]);
  T values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = which[lane] ? a[lane] : b[lane];
  put(op, lanes, values);
}

// Part `number` of a value of type W is one of type T, lowest first.
template <class T, class W> void insertPart(const Operation &op, Lanes &lanes) {
  const T *part = lanes.at<T>(op.sources[0]);
  T *target = lanes.at<T>(op.target);
  constexpr int COUNT = sizeof(W) / sizeof(T);
  for (int lane = 0; lane < LANES; ++lane)
    target[lane * COUNT + op.number] = part[lane];
}
template <class T, class W>
void extractPart(const Operation &op, Lanes &lanes) {
  const T *source = lanes.at<T>(op.sources[0]);
  constexpr int COUNT = sizeof(W) / sizeof(T);
  T values[LANES];
  for (int lane = 0; lane < LANES; ++lane)
    values[lane] = source[lane * COUNT + op.number];
  put(op, lanes, values);
}

// Floats

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> BitsOf<T> bits(T value) {
  BitsOf<T> result;
  std::memcpy(&result, &value, sizeof(T));
  return result;
}
template <class T> T fromBits(BitsOf<T> value) {
  T result;
  std::memcpy(&result, &value, sizeof(T));
  return result;
}
template <class T>
constexpr BitsOf<T> SIGN = BitsOf<T>(1) << (8 * sizeof(T) - 1);

// f32 has one NaN. f64 keeps that of the first operand that is one, made quiet;
// a product comes before what is added to it.
inline float nanOf(const float *, int) { return fromBits<float>(0x7fffffff); }
inline double nanOf(const double *operands, int count) {
  bool invalidProduct = count == 3 && std::isnan(operands[0] * operands[1]);
  for (int i = 0; i < (invalidProduct ? 2 : count); ++i)
    if (std::isnan(operands[i]))
      return fromBits<double>(bits(operands[i]) | uint64_t(1) << 51);
  return fromBits<double>(0xfff8000000000000);
}

template <class F, int COUNT, class T>
__attribute__((noinline)) void compute(const Operation &op, Lanes &lanes) {
  const T *a = lanes.at<T>(op.sources[0]), *b = lanes.at<T>(op.sources[1]),
          *c = lanes.at<T>(op.sources[2]);
  T values[LANES];
  bool nan = false;
  for (int lane = 0; lane < LANES; ++lane) {
    values[lane] = F()(a[lane], b[lane], c[lane]);
    nan |= values[lane] != values[lane];
  }
  // An f64 that is only chosen stays as it is.
  if (nan && (F::COMPUTES || sizeof(T) == 4))
    for (int lane = 0; lane < LANES; ++lane)
      if (values[lane] != values[lane]) {
        T operands[3] = {a[lane], F::NEGATES ? -b[lane] : b[lane], c[lane]};
        values[lane] = nanOf(operands, COUNT);
      }
  put(op, lanes, values);
}

// The mode is set around a call that cannot be inlined, so that no arithmetic
// moves across.
template <class F, int COUNT, class T, int MODE>
void rounded(const Operation &op, Lanes &lanes) {
  std::fesetround(MODE);
  compute<F, COUNT, T>(op, lanes);
  std::fesetround(FE_TONEAREST);
}

#define TILE_FLOAT(NAME, COMPUTED, NEGATIVE, EXPRESSION)                       \
  struct NAME {                                                                \
    static constexpr bool COMPUTES = COMPUTED, NEGATES = NEGATIVE;             \
    template <class T> T operator()(T a, T b, T c) const {                     \
      (void)b, (void)c;                                                        \
      return EXPRESSION;                                                       \
    }                                                                          \
  };
TILE_FLOAT(AddFloat, true, false, a + b)
TILE_FLOAT(SubFloat, true, true, a - b)
TILE_FLOAT(MulFloat, true, false, a *b)
TILE_FLOAT(DivFloat, true, false, a / b)
TILE_FLOAT(SqrtFloat, true, false, std::sqrt(a))
TILE_FLOAT(FmaFloat, true, false, std::fma(a, b, c))
TILE_FLOAT(CopySign, false, false, std::copysign(b, a))
#undef TILE_FLOAT

// -0 is below +0; without NAN_WINS a number wins over NaN.
template <bool LEAST, bool NAN_WINS, bool XOR_SIGN> struct Extreme {
  static constexpr bool COMPUTES = false, NEGATES = false;
  template <class T> T operator()(T a, T b, T) const {
    bool flip = std::signbit(a) != std::signbit(b);
    if (XOR_SIGN) {
      a = std::fabs(a);
      b = std::fabs(b);
    }
    T value;
    if (std::isnan(a) || std::isnan(b))
      value =
          std::isnan(a) == NAN_WINS || (std::isnan(a) && std::isnan(b)) ? a : b;
    else if (a == b)
      value = LEAST == std::signbit(a) ? a : b;
    else
      value = (a < b) == LEAST ? a : b;
    return XOR_SIGN ? std::copysign(value, flip ? T(-1) : T(1)) : value;
  }
};

struct Flush {
  float operator()(float a) const {
    return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a;
  }
  uint16_t operator()(uint16_t a) const { return a & 0x7c00 ? a : a & 0x8000; }
  uint32_t operator()(uint32_t a) const {
    return (*this)(static_cast<uint16_t>(a)) |
           static_cast<uint32_t>((*this)(static_cast<uint16_t>(a >> 16))) << 16;
  }
};
struct Unit {
  template <class T> T operator()(T a) const {
    return a > 0 ? (a < 1 ? a : T(1)) : T(0);
  }
};

// The table

template <class T> std::string bitsName() {
  return "." + std::to_string(8 * sizeof(T));
}
template <class T> std::string kindName() {
  std::string letter = std::is_floating_point<T>::value ? "f"
                       : std::is_signed<T>::value       ? "s"
                                                        : "u";
  return "." + letter + std::to_string(8 * sizeof(T));
}
template <> std::string kindName<Bit>() { return ".u1"; }

template <class T> void addBits(Table &table) {
  std::string kind = bitsName<T>();
  table["mov" + kind] = unary<T, T, Same>;
  table["not" + kind] = unary<T, T, Not>;
  table["cnot" + kind] = unary<T, T, IsZero>;
  table["and" + kind] = binary<T, T, And>;
  table["or" + kind] = binary<T, T, Or>;
  table["xor" + kind] = binary<T, T, Xor>;
  table["add" + kind] = binary<T, T, Add>;
  table["sub" + kind] = binary<T, T, Sub>;
  table["mul.lo" + kind] = binary<T, T, Mul>;
  table["neg" + kind] = unary<T, T, Negate>;
  table["shl" + kind] = binary<T, T, ShiftLeft, uint32_t>;
  table["selp" + kind] = select<T>;
}

template <class T> void addComparisons(Table &table) {
  std::string kind = kindName<T>();
  table["eq" + kind] = binary<uint8_t, T, Equal>;
  table["ne" + kind] = binary<uint8_t, T, NotEqual>;
  table["lt" + kind] = binary<uint8_t, T, Less>;
  table["le" + kind] = binary<uint8_t, T, LessEqual>;
  table["gt" + kind] = binary<uint8_t, T, Greater>;
  table["ge" + kind] = binary<uint8_t, T, GreaterEqual>;
}

template <class T> void addIntegers(Table &table) {
  std::string kind = kindName<T>();
  table["min" + kind] = binary<T, T, Min>;
  table["max" + kind] = binary<T, T, Max>;
  table["div" + kind] = binary<T, T, Divide<false>>;
  table["rem" + kind] = binary<T, T, Divide<true>>;
  table["shr" + kind] = binary<T, T, ShiftRight, uint32_t>;
  addComparisons<T>(table);
  table["lo" + kind] = table["lt" + kind];
  table["ls" + kind] = table["le" + kind];
  table["hi" + kind] = table["gt" + kind];
  table["hs" + kind] = table["ge" + kind];
}

template <class T, class W> void addProducts(Table &table) {
  std::string kind = kindName<T>();
  table["mul.wide" + kind] = binary<W, T, MulWide<W>>;
  table["mul.hi" + kind] = binary<T, T, MulHigh<W>>;
}

template <class T> void addSigned(Table &table) {
  std::string kind = bitsName<T>();
  table["abs" + kind] = unary<T, T, Absolute>;
  table["relu" + kind] = unary<T, T, Clamp0>;
}

template <class A, class R> void addConversion(Table &table) {
  using Read = std::conditional_t<std::is_same<A, Bit>::value, uint8_t, A>;
  table["cvt" + kindName<R>() + kindName<A>()] = unary<R, Read, Cast<R>>;
  if constexpr (!std::is_same<R, Bit>::value)
    table["cvt.sat" + kindName<R>() + kindName<A>()] =
        unary<R, Read, Saturate<R>>;
}
template <class A> void addConversions(Table &table) {
  addConversion<A, Bit>(table);
  addConversion<A, uint8_t>(table);
  addConversion<A, int8_t>(table);
  addConversion<A, uint16_t>(table);
  addConversion<A, int16_t>(table);
  addConversion<A, uint32_t>(table);
  addConversion<A, int32_t>(table);
  addConversion<A, uint64_t>(table);
  addConversion<A, int64_t>(table);
}

template <class T, class W> void addParts(Table &table) {
  table["insert" + bitsName<W>() + bitsName<T>()] = insertPart<T, W>;
  table["extract" + bitsName<W>() + bitsName<T>()] = extractPart<T, W>;
}

template <class T, class F, int COUNT>
void addRounded(Table &table, const std::string &name) {
  std::string kind = kindName<T>();
  table[name + ".rn" + kind] = compute<F, COUNT, T>;
  table[name + ".rz" + kind] = rounded<F, COUNT, T, FE_TOWARDZERO>;
  table[name + ".rm" + kind] = rounded<F, COUNT, T, FE_DOWNWARD>;
  table[name + ".rp" + kind] = rounded<F, COUNT, T, FE_UPWARD>;
}

template <class T> void addFloats(Table &table) {
  std::string kind = kindName<T>();
  addRounded<T, AddFloat, 2>(table, "add");
  addRounded<T, SubFloat, 2>(table, "sub");
  addRounded<T, MulFloat, 2>(table, "mul");
  addRounded<T, DivFloat, 2>(table, "div");
  addRounded<T, SqrtFloat, 1>(table, "sqrt");
  addRounded<T, FmaFloat, 3>(table, "fma");
  table["copysign" + kind] = compute<CopySign, 2, T>;
  table["min" + kind] = compute<Extreme<true, false, false>, 2, T>;
  table["max" + kind] = compute<Extreme<false, false, false>, 2, T>;
  table["min.NaN" + kind] = compute<Extreme<true, true, false>, 2, T>;
  table["max.NaN" + kind] = compute<Extreme<false, true, false>, 2, T>;
  table["min.xorsign" + kind] = compute<Extreme<true, false, true>, 2, T>;
  table["max.xorsign" + kind] = compute<Extreme<false, false, true>, 2, T>;
  table["min.NaN.xorsign" + kind] = compute<Extreme<true, true, true>, 2, T>;
  table["max.NaN.xorsign" + kind] = compute<Extreme<false, true, true>, 2, T>;
  table["sat" + kind] = unary<T, T, Unit>;
  addComparisons<T>(table);
  table["ne" + kind] = binary<uint8_t, T, LessOrGreater>;
  table["equ" + kind] = binary<uint8_t, T, EqualUnordered>;
  table["neu" + kind] = binary<uint8_t, T, NotEqual>;
  table["ltu" + kind] = binary<uint8_t, T, LessUnordered>;
  table["leu" + kind] = binary<uint8_t, T, LessEqualUnordered>;
  table["gtu" + kind] = binary<uint8_t, T, GreaterUnordered>;
  table["geu" + kind] = binary<uint8_t, T, GreaterEqualUnordered>;
  table["num" + kind] = binary<uint8_t, T, Ordered>;
  table["nan" + kind] = binary<uint8_t, T, Unordered>;
}

Table makeTable() {
  Table table;
  addBits<uint8_t>(table);
  addBits<uint16_t>(table);
  addBits<uint32_t>(table);
  addBits<uint64_t>(table);
  table["mov.1"] = unary<uint8_t, uint8_t, Same>;
  table["not.1"] = table["cnot.1"] = unary<uint8_t, uint8_t, IsZero>;
  table["and.1"] = binary<uint8_t, uint8_t, And>;
  table["or.1"] = binary<uint8_t, uint8_t, Or>;
  table["xor.1"] = binary<uint8_t, uint8_t, Xor>;
  table["selp.1"] = select<uint8_t>;
  addIntegers<uint8_t>(table);
  addIntegers<int8_t>(table);
  addIntegers<uint16_t>(table);
  addIntegers<int16_t>(table);
  addIntegers<uint32_t>(table);
  addIntegers<int32_t>(table);
  addIntegers<uint64_t>(table);
  addIntegers<int64_t>(table);
  addProducts<uint16_t, uint32_t>(table);
  addProducts<int16_t, int32_t>(table);
  addProducts<uint32_t, uint64_t>(table);
  addProducts<int32_t, int64_t>(table);
  table["mul.hi.u64"] = binary<uint64_t, uint64_t, MulHigh<unsigned __int128>>;
  table["mul.hi.s64"] = binary<int64_t, int64_t, MulHigh<__int128>>;
  addSigned<int8_t>(table);
  addSigned<int16_t>(table);
  addSigned<int32_t>(table);
  addSigned<int64_t>(table);
  table["add.sat.32"] = binary<int32_t, int32_t, AddSaturating<false>>;
  table["sub.sat.32"] = binary<int32_t, int32_t, AddSaturating<true>>;
  addConversions<Bit>(table);
  addConversions<uint8_t>(table);
  addConversions<int8_t>(table);
  addConversions<uint16_t>(table);
  addConversions<int16_t>(table);
  addConversions<uint32_t>(table);
  addConversions<int32_t>(table);
  addConversions<uint64_t>(table);
  addConversions<int64_t>(table);
  addParts<uint8_t, uint16_t>(table);
  addParts<uint8_t, uint32_t>(table);
  addParts<uint8_t, uint64_t>(table);
  addParts<uint16_t, uint32_t>(table);
  addParts<uint16_t, uint64_t>(table);
  addParts<uint32_t, uint64_t>(table);
  addFloats<float>(table);
  addFloats<double>(table);
  addBitOperations(table);
  addNarrowFloats(table);
  addFloatConversions(table);
  table["flush.f32"] = unary<float, float, Flush>;
  table["flush.f16"] = unary<uint16_t, uint16_t, Flush>;
  table["flush.f16x2"] = unary<uint32_t, uint32_t, Flush>;
  return table;
}

} // namespace

Function findFunction(const std::string &name) {
  static const Table table = makeTable();
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace tile_emulator
