// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Global memory: segments by address. The bytes belong to who inserts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tile_emulator {

class Memory {
public:
  void insert(uint64_t base, uint64_t nbytes, uint8_t *data);
  void remove(uint64_t base);
  // The bytes at an address; null where no segment holds all of them.
  uint8_t *find(uint64_t address, uint64_t nbytes);

private:
  struct Segment {
    uint64_t base, nbytes;
    uint8_t *data;
  };
  std::vector<Segment> segments;
  size_t last = 0;
};

} // namespace tile_emulator
