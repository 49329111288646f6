// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vprintf reads as many bytes of each argument as its conversion says, and
// upstream's lowering gives it those that the argument's type has.
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/ADT/StringExtras.h"

namespace tile {
#define GEN_PASS_DEF_TILELEGALIZEPRINTF
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

namespace {
/// One conversion of a format: `%`, what `text` has, a length and the letter.
struct Conversion {
  StringRef before; // what is printed as it is
  StringRef text;   // flags, width and precision
  char letter;      // 0: the end of the format
  unsigned stars;   // widths and precisions that are arguments
};
} // namespace

static StringRef takeAny(StringRef &from, StringRef letters) {
  StringRef taken =
      from.take_while([&](char c) { return letters.contains(c); });
  from = from.drop_front(taken.size());
  return taken;
}

/// The next conversion, and its length and letter taken away.
static Conversion next(StringRef &format) {
  StringRef begin = format;
  while (true) {
    format = format.drop_until([](char c) { return c == '%'; });
    if (format.empty())
      return {begin, "", 0, 0};
    if (!format.starts_with("%%"))
      break;
    format = format.drop_front(2);
  }
  StringRef before = begin.drop_back(format.size());
  format = format.drop_front();
  StringRef text = takeAny(format, "-+ #0123456789.*");
  takeAny(format, "hljztL");
  char letter = format.empty() ? '%' : format.front();
  format = format.drop_front(format.empty() ? 0 : 1);
  return {before, text, letter, unsigned(text.count('*'))};
}

/// The argument in 32 bits, or in 64 where it has more: as a number with a
/// sign, but for a bool.
static Value extended(OpBuilder &builder, Location loc, Value value,
                      bool isSigned) {
  if (isa<IndexType>(value.getType()))
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      value);
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  Type wide = builder.getIntegerType(bits <= 32 ? 32 : 64);
  if (wide == value.getType())
    return value;
  if (isSigned && bits > 1)
    return arith::ExtSIOp::create(builder, loc, wide, value);
  return arith::ExtUIOp::create(builder, loc, wide, value);
}

static LogicalResult legalize(gpu::PrintfOp op) {
  OpBuilder builder(op);
  auto refuse = [&](const Twine &rule, const Twine &fix) {
    InFlightDiagnostic error = op.emitOpError() << rule;
    error.attachNote() << fix;
    return error;
  };
  SmallVector<Value> arguments(op.getArgs());
  std::string format;
  unsigned used = 0;
  for (StringRef rest = op.getFormat();;) {
    Conversion each = next(rest);
    format += each.before;
    if (!each.letter)
      break;
    unsigned first = used;
    used += each.stars + 1;
    if (used > arguments.size())
      continue;
    for (unsigned i = first; i + 1 < used; ++i) {
      if (!isa<IntegerType>(arguments[i].getType()) ||
          arguments[i].getType().getIntOrFloatBitWidth() > 32)
        return refuse("must have an integer of at most 32 bits for '*'",
                      "truncate the width or precision to i32");
      arguments[i] = extended(builder, op.getLoc(), arguments[i], true);
    }
    Value &argument = arguments[used - 1];
    Type type = argument.getType();
    StringRef letter(&each.letter, 1);
    format += "%";
    format += each.text;
    if (StringRef("diouxXc").contains(each.letter)) {
      if (!type.isSignlessIntOrIndex() ||
          (!type.isIndex() && type.getIntOrFloatBitWidth() > 64)) {
        std::string got;
        llvm::raw_string_ostream(got) << type;
        return refuse("must have an integer of at most 64 bits for %" + letter +
                          ", got " + got,
                      "write %f for a float");
      }
      argument = extended(builder, op.getLoc(), argument,
                          StringRef("dic").contains(each.letter));
      if (each.letter == 'c' && !argument.getType().isInteger(32))
        argument = arith::TruncIOp::create(builder, op.getLoc(),
                                           builder.getI32Type(), argument);
      if (argument.getType().isInteger(64))
        format += "ll";
    } else if (StringRef("fFeEgGaA").contains(each.letter)) {
      if (!isa<FloatType>(type)) {
        std::string got;
        llvm::raw_string_ostream(got) << type;
        return refuse("must have a float for %" + letter + ", got " + got,
                      "write %d for an integer");
      }
    } else {
      return refuse("must convert by one of diouxXcfFeEgGaA, got %" + letter,
                    "print a number, or write %% for the character itself");
    }
    format += each.letter;
  }
  if (used != arguments.size())
    return refuse("must have as many arguments as its format converts, " +
                      Twine(used) + ", got " + Twine(arguments.size()),
                  "write a conversion for each argument");
  op.setFormat(format);
  op.getArgsMutable().assign(arguments);
  return success();
}

namespace {
struct LegalizePrintf : tile::impl::TileLegalizePrintfBase<LegalizePrintf> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk(
        [](gpu::PrintfOp op) -> WalkResult { return legalize(op); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
