// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tile;

ParseResult AllReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef name;
  SMLoc at = parser.getCurrentLocation();
  bool hasKind = succeeded(parser.parseOptionalKeyword(&name));
  if (hasKind) {
    std::optional<ReductionKind> kind = symbolizeReductionKind(name);
    if (!kind)
      return parser.emitError(at)
             << "kind must be one of those of gpu.all_reduce, got '" << name
             << "'";
    result.addAttribute(getKindAttrName(result.name),
                        ReductionKindAttr::get(parser.getContext(), *kind));
  }
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SmallVector<Type> types;
  SMLoc valuesAt = parser.getCurrentLocation();
  Region *combination = result.addRegion();
  if (parser.parseOperandList(values) ||
      (!hasKind && parser.parseRegion(*combination)) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types) ||
      parser.resolveOperands(values, types, valuesAt, result.operands))
    return failure();
  result.addTypes(types);
  return success();
}

void AllReduceOp::print(OpAsmPrinter &printer) {
  if (getKind())
    printer << ' ' << stringifyReductionKind(*getKind());
  printer << ' ' << getValues();
  if (!getKind()) {
    printer << ' ';
    printer.printRegion(getCombination());
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {getKindAttrName()});
  printer << " : " << getValues().getTypes();
}

/// Whether values of `type` can be sent from CTA to CTA.
static bool isReducible(Type type) {
  return type.isSignlessInteger(32) || type.isSignlessInteger(64) ||
         type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

static bool takes(ReductionKind kind, Type type) {
  switch (kind) {
  case ReductionKind::Add:
  case ReductionKind::Mul:
    return true;
  case ReductionKind::MinNumF:
  case ReductionKind::MaxNumF:
  case ReductionKind::MinimumF:
  case ReductionKind::MaximumF:
    return isa<FloatType>(type);
  case ReductionKind::MinUI:
  case ReductionKind::MinSI:
  case ReductionKind::MaxUI:
  case ReductionKind::MaxSI:
  case ReductionKind::And:
  case ReductionKind::Or:
  case ReductionKind::Xor:
    return isa<IntegerType>(type);
  case ReductionKind::Inc:
  case ReductionKind::Dec:
    return false;
  }
  return false;
}

LogicalResult AllReduceOp::verify() {
  // r1
  bool hasRegion = !getCombination().empty();
  if (getKind() && hasRegion)
    return emitOpError("must have a kind or a region, got both");
  if (!getKind() && !hasRegion)
    return emitOpError("must have a kind or a region");
  if (getValues().empty())
    return emitOpError("must combine at least one value");
  if (getKind() && getValues().size() != 1) {
    InFlightDiagnostic diag =
        emitOpError("must combine one value where it names a kind, got ");
    diag << getValues().size();
    diag.attachNote() << "combine several values by a region";
    return diag;
  }
  // r2
  for (Type type : getValues().getTypes())
    if (!isReducible(type))
      return emitOpError("values must be i32, i64, f16, bf16, f32 or f64, got ")
             << type;
  if (getResultTypes() != getValues().getTypes())
    return emitOpError("results must have the types of the values, got ")
           << getResultTypes();
  // r3
  if (getKind() && !takes(*getKind(), getValues()[0].getType()))
    return emitOpError("kind must be one that takes ")
           << getValues()[0].getType() << ", got "
           << stringifyReductionKind(*getKind());
  return success();
}

LogicalResult AllReduceOp::verifyRegions() {
  if (getCombination().empty())
    return success();
  Block &block = getCombination().front();
  // r4
  SmallVector<Type> expected(getValues().getTypes());
  llvm::append_range(expected, getValues().getTypes());
  if (block.getArgumentTypes() != TypeRange(expected))
    return emitOpError("region must take the left values, then the right ones, "
                       "(")
           << expected << "), got (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError("region must end with tile.yield");
  if (yield.getValues().getTypes() != getValues().getTypes())
    return yield.emitOpError("must yield one value of each operand's type, ")
           << getValues().getTypes() << ", got "
           << yield.getValues().getTypes();
  // r5
  for (Operation &op : block) {
    if (isMemoryEffectFree(&op))
      continue;
    InFlightDiagnostic diag = emitOpError("region must have no effects");
    diag.attachNote(op.getLoc()) << "'" << op.getName() << "' may have some";
    return diag;
  }
  return success();
}
