// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is remembered of a host call that went wrong, and its wording.

#ifndef TILE_RUNTIME_FAILURE_H
#define TILE_RUNTIME_FAILURE_H

#include "TileRuntime.h"

#include "CudaTypes.h"

#include <array>
#include <string>

namespace tile::runtime {

using Dim3 = std::array<int64_t, 3>;

std::string toString(const Dim3 &dim);
int64_t product(const Dim3 &dim);

/// A kernel launch as the host program asked for it.
struct LaunchShape {
  std::string kernel;
  Dim3 grid{0, 0, 0};
  Dim3 block{0, 0, 0};
  Dim3 cluster{1, 1, 1};
  int64_t sharedBytes = 0;

  /// "kernel 'k' (grid 2x1x1, block 32x1x1, cluster 2x1x1, 0 bytes of ...)".
  std::string describe() const;
};

struct Failure {
  TileRuntimeFailureKind kind = TILE_RUNTIME_OK;
  CUresult code = CUDA_SUCCESS;
  std::string call;
  std::string errorName;
  std::string errorText;
  std::string message;
  LaunchShape launch;

  /// Fills the C view of this failure; its texts live as long as this does.
  void exportTo(TileRuntimeFailure &out) const;
};

} // namespace tile::runtime

#endif // TILE_RUNTIME_FAILURE_H
