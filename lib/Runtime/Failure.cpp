// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wording of launches and the C view of a failure.

#include "Failure.h"

using namespace tile::runtime;

std::string tile::runtime::toString(const Dim3 &dim) {
  return std::to_string(dim[0]) + "x" + std::to_string(dim[1]) + "x" +
         std::to_string(dim[2]);
}

int64_t tile::runtime::product(const Dim3 &dim) {
  return dim[0] * dim[1] * dim[2];
}

std::string LaunchShape::describe() const {
  return "kernel '" + kernel + "' (grid " + toString(grid) + ", block " +
         toString(block) + ", cluster " + toString(cluster) + ", " +
         std::to_string(sharedBytes) + " bytes of dynamic shared memory)";
}

void Failure::exportTo(TileRuntimeFailure &out) const {
  out.kind = kind;
  out.code = code;
  out.call = call.c_str();
  out.errorName = errorName.c_str();
  out.errorText = errorText.c_str();
  out.message = message.c_str();
  out.kernel = launch.kernel.c_str();
  for (int i = 0; i < 3; ++i) {
    out.grid[i] = launch.grid[i];
    out.block[i] = launch.block[i];
    out.cluster[i] = launch.cluster[i];
  }
  out.sharedBytes = launch.sharedBytes;
}
