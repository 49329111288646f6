// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the bytes that a kernel arms its barriers with to the bytes that its
// copies bring.
#ifndef TILE_SYNC_TRANSACTION_BYTES_H
#define TILE_SYNC_TRANSACTION_BYTES_H

#include "lib/Sync/BarrierUses.h"

namespace tile {

/// Reports each constant number of bytes that no number of copies into the
/// barrier can add up to, and copies into barriers that nothing arms. Barriers
/// that anything else may complete are left alone.
void checkTransactionBytes(const BarrierUses &uses, const KernelSizes &sizes,
                           Report report);

} // namespace tile

#endif // TILE_SYNC_TRANSACTION_BYTES_H
