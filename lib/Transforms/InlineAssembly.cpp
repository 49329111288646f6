// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/InlineAssembly.h"

#include "mlir/Target/LLVMIR/TypeToLLVM.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Error.h"

using namespace mlir;

/// What LLVM makes of the op's operands and result.
static llvm::FunctionType *functionType(LLVM::InlineAsmOp op,
                                        llvm::LLVMContext &context) {
  LLVM::TypeToLLVMIRTranslator translator(context);
  SmallVector<llvm::Type *> operands;
  for (Type type : op.getOperandTypes())
    operands.push_back(translator.translateType(type));
  llvm::Type *result = op.getNumResults()
                           ? translator.translateType(op.getResult(0).getType())
                           : llvm::Type::getVoidTy(context);
  return llvm::FunctionType::get(result, operands, /*isVarArg=*/false);
}

/// The rule that `$` in the text breaks, or nothing: it is followed by `$`, one
/// of `(|)`, the number of an operand, or that in braces, with a letter that
/// says how it is written.
static std::string faultOfText(StringRef text, unsigned operandCount) {
  while (true) {
    text = text.drop_until([](char c) { return c == '$'; });
    if (text.empty())
      return {};
    text = text.drop_front();
    if (!text.empty() && StringRef("$(|)").contains(text[0])) {
      text = text.drop_front();
      continue;
    }
    bool isBraced = text.consume_front("{");
    // What is special is written for each of LLVM's targets, and names nothing.
    if (isBraced &&
        (text.consume_front(":uid}") || text.consume_front(":private}") ||
         text.consume_front(":comment}")))
      continue;
    unsigned number = 0;
    if (text.empty() || !llvm::isDigit(text[0]) ||
        text.consumeInteger(10, number))
      return "must name an operand by its number after '$' (write '$$' for "
             "the character itself)";
    if (number >= operandCount)
      return "must name one of its operands, " + std::to_string(operandCount) +
             " in all, after '$', got $" + std::to_string(number);
    if (!isBraced)
      continue;
    if (text.consume_front(":"))
      text = text.drop_front(text.empty() ? 0 : 1);
    if (!text.consume_front("}"))
      return "must close '${' after the operand's number or its modifier";
  }
}

LogicalResult tile::checkInlineAssembly(LLVM::InlineAsmOp op) {
  StringRef constraints = op.getConstraints();
  auto refuse = [&](const Twine &rule, StringRef fix) {
    InFlightDiagnostic error = op.emitOpError() << rule;
    error.attachNote() << fix;
    return error;
  };
  llvm::LLVMContext context;
  llvm::FunctionType *type = functionType(op, context);
  if (llvm::Error fault = llvm::InlineAsm::verify(type, constraints))
    return refuse("has constraints \"" + constraints +
                      "\" that do not fit its operands: " +
                      llvm::toString(std::move(fault)),
                  "write one constraint for each result, as \"=r\", and each "
                  "operand, as \"r\"");
  unsigned count = 0;
  for (const llvm::InlineAsm::ConstraintInfo &each :
       llvm::InlineAsm::ParseConstraints(constraints)) {
    count += each.Type != llvm::InlineAsm::isClobber;
    // LLVM ends the process where it cannot make an address of an operand.
    for (StringRef code : each.Codes)
      if (each.Type != llvm::InlineAsm::isClobber &&
          StringRef("poV").contains(code))
        return refuse("has constraint \"" + code +
                          "\", which GPUs have no operands for",
                      "hand over a pointer in a register, as \"l\"");
  }
  if (std::string rule = faultOfText(op.getAsmString(), count); !rule.empty())
    return refuse(rule, "count the results first, then the operands, from $0");
  return success();
}
