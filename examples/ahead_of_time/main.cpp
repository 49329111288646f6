// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the host program of ../dsmem_copy.mlir, which tile-compile has compiled
// ahead of time, without Python. Build and run it with
//
//   cmake -S examples/ahead_of_time -B build/ahead_of_time
//   cmake --build build/ahead_of_time && build/ahead_of_time/dsmem_copy

#include "dsmem_copy.h"

#include <cstdio>
#include <vector>

int main() {
  constexpr int rows = 128, columns = 64;
  // f16 elements, which C++17 has no type for: their bits.
  std::vector<uint16_t> sent(rows * columns), arrived(sent.size());
  for (size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<uint16_t>(i);

  TileRuntimeFailure failure;
  if (tile_main(tile_memref_f16_2d_of(sent.data(), rows, columns),
                tile_memref_f16_2d_of(arrived.data(), rows, columns),
                /*options=*/nullptr, &failure)) {
    std::fprintf(stderr, "error: %s\n", failure.message);
    return 1;
  }
  if (arrived != sent) {
    std::fprintf(stderr, "error: other bytes arrived than were sent\n");
    return 1;
  }
  std::puts("The tile arrived in the shared memory of the other CTA.");
  return 0;
}
