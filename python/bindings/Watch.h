// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process leaves behind for those who have to say why it crashed.
#ifndef TILE_BINDINGS_WATCH_H
#define TILE_BINDINGS_WATCH_H

#include "mlir-c/IR.h"

#include <cstddef>

namespace tile {

/// Where the compiler is, as text that ends with a zero.
struct WatchRecord {
  char pass[128];
  char place[384];
};

/// Keeps in `record` which pass runs in `context`, and the place of the op that
/// it works on. The record must live as long as the context, which must use one
/// thread.
void watch(MlirContext context, WatchRecord &record);

/// Lets a crash of LLVM say nothing but its reason: no stack, no request to
/// send it to LLVM.
void silenceStackDumps();

} // namespace tile

#endif // TILE_BINDINGS_WATCH_H
