// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Proofs that each chunk of a tile begins at a multiple of `granule` bytes: its
// buffer, its offset and the steps from chunk to chunk.
#ifndef TILE_PLAN_ALIGNMENT_H
#define TILE_PLAN_ALIGNMENT_H

#include "lib/Plan/Variant.h"

namespace tile {

/// Whether the place of `origin` is aligned to `granule` bytes, or can be.
std::optional<Refusal> checkOrigin(llvm::StringRef side, const Origin &origin,
                                   int64_t granule);

/// The same of all buffers that `tile` may be in.
std::optional<Refusal> checkBufferAlignment(llvm::StringRef side,
                                            const TracedTile &tile,
                                            int64_t granule);

/// The part of the offset that is known at run time only must keep chunks at
/// multiples of the granule.
std::optional<Refusal> checkRuntimeOffset(llvm::StringRef side,
                                          const TracedTile &tile,
                                          int64_t granule);

/// Every chunk must begin at a multiple of the granule: the first, and with it
/// the steps of the loops, in elements. `start` counts what the run-time offset
/// always is past its modulus, too.
std::optional<Refusal> checkStarts(llvm::StringRef side, const TracedTile &tile,
                                   int64_t start, llvm::ArrayRef<int64_t> steps,
                                   int64_t granule);

/// With a swizzle, steps do not tell where chunks begin: `alignment`, in
/// elements of `bits`, is how far all of them are aligned.
std::optional<Refusal> checkSwizzled(llvm::StringRef side, int64_t alignment,
                                     int64_t bits, int64_t granule);

/// Whether what is `startBytes` from the buffer's start, the run-time offset
/// aside, is proved to be at a multiple of `granule` bytes.
bool startsAtMultiple(const TracedTile &tile, int64_t startBytes,
                      int64_t granule);

} // namespace tile

#endif // TILE_PLAN_ALIGNMENT_H
