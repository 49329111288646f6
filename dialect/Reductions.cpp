// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/Reductions.h"

using namespace mlir;
using namespace tile;

bool tile::reducesInPeer(ReductionKind kind, Type type) {
  switch (kind) {
  case ReductionKind::Add:
    return type.isSignlessInteger(32) || type.isSignlessInteger(64);
  case ReductionKind::MinUI:
  case ReductionKind::MinSI:
  case ReductionKind::MaxUI:
  case ReductionKind::MaxSI:
  case ReductionKind::And:
  case ReductionKind::Or:
  case ReductionKind::Xor:
  case ReductionKind::Inc:
  case ReductionKind::Dec:
    return type.isSignlessInteger(32);
  default:
    return false;
  }
}

bool tile::reducesInGlobal(ReductionKind kind, Type type) {
  switch (kind) {
  case ReductionKind::Add:
    return type.isSignlessInteger(32) || type.isSignlessInteger(64) ||
           isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
  case ReductionKind::MinUI:
  case ReductionKind::MinSI:
  case ReductionKind::MaxUI:
  case ReductionKind::MaxSI:
  case ReductionKind::And:
  case ReductionKind::Or:
  case ReductionKind::Xor:
    return type.isSignlessInteger(32) || type.isSignlessInteger(64);
  case ReductionKind::MinNumF:
  case ReductionKind::MaxNumF:
    return isa<Float16Type, BFloat16Type>(type);
  case ReductionKind::Inc:
  case ReductionKind::Dec:
    return type.isSignlessInteger(32);
  default:
    return false;
  }
}
