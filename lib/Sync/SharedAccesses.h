// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the ops of a kernel do to the buffers that its copies use, and where its
// threads meet.
#ifndef TILE_SYNC_SHARED_ACCESSES_H
#define TILE_SYNC_SHARED_ACCESSES_H

#include "lib/Sync/SyncFlow.h"

namespace tile {

/// Adds `other`, and returns whether that changed anything.
bool joinBits(llvm::BitVector &mine, const llvm::BitVector &other);

/// An op at which threads meet.
struct MeetingPoint {
  Meeting meeting;
  /// Of an mbarrier.
  BarrierPlaces barriers;
  /// Of another barrier: whether threads of a CTA may differ in whether they
  /// come here, and whether CTAs may.
  bool isDivergent = false, isConditional = false;
};

class SharedAccesses {
public:
  explicit SharedAccesses(const SyncFlow &flow);

  unsigned size() const { return places.size(); }
  llvm::ArrayRef<SyncPoint> points() const { return flow.points().points(); }

  /// Null where no threads meet.
  const MeetingPoint *meetingAt(mlir::Operation *op) const;
  /// What `op` may store to and load from in the way of a thread, and what a
  /// copy may have brought by stores once `op` has waited for it; null where
  /// there is nothing.
  const llvm::BitVector *writtenBy(mlir::Operation *op) const;
  const llvm::BitVector *readBy(mlir::Operation *op) const;
  const llvm::BitVector *receivedBy(mlir::Operation *op) const;
  llvm::BitVector sources(CopyAsyncOp copy);
  llvm::BitVector destinations(CopyAsyncOp copy);
  BarrierPlaces barriersOf(CopyAsyncOp copy);

  const SyncFlow &flow;
  SharedPlaces places, groups;
  /// Buffers into which one copy may go by stores, and another one through the
  /// async proxy.
  llvm::BitVector mixed;

private:
  using Map = llvm::DenseMap<mlir::Operation *, llvm::BitVector>;

  llvm::BitVector namedBy(mlir::Value side);
  void findMeetings();
  void findMixed();
  void findReceived();
  void findAccesses(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, MeetingPoint> meetings;
  Map written, read, received;
};

} // namespace tile

#endif // TILE_SYNC_SHARED_ACCESSES_H
