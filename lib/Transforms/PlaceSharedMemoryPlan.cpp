// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which buffers stay static, and where the others come to lie in dynamic
// memory.
#include "lib/Transforms/PlaceSharedMemory.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;
using namespace tile::placement;

/// What a kernel may declare statically; PTX assemblers reject more.
static constexpr int64_t kMaxStaticBytes = 48 * 1024;
/// What a CTA of sm_90 may have in all; chips that have less refuse the launch.
static constexpr int64_t kMaxSharedBytes = 227 * 1024;

/// Static shared memory of the buffers that were not moved, in whatever order
/// they come to lie.
static int64_t staticBytes(ArrayRef<Buffer> buffers) {
  int64_t finest = kMaxAlignment;
  for (const Buffer &buffer : buffers)
    if (!buffer.frontOffset)
      finest = std::min(finest, buffer.alignment);
  int64_t sum = 0;
  int64_t leastSlack = kMaxAlignment;
  for (const Buffer &buffer : buffers) {
    if (buffer.frontOffset)
      continue;
    int64_t rounded = llvm::alignTo(buffer.bytes, finest);
    sum += rounded + buffer.alignment - finest;
    leastSlack = std::min(leastSlack, rounded - buffer.bytes);
  }
  // Behind the last one nothing is rounded up.
  return sum == 0 ? 0 : sum - leastSlack;
}

/// Lays out the moved buffers, the most aligned first, and returns where they
/// end.
static int64_t layOutFront(SmallVectorImpl<Buffer> &buffers) {
  SmallVector<Buffer *> moved;
  for (Buffer &buffer : buffers)
    if (buffer.frontOffset)
      moved.push_back(&buffer);
  llvm::stable_sort(moved, [](const Buffer *a, const Buffer *b) {
    return a->alignment > b->alignment;
  });
  int64_t end = 0;
  for (Buffer *buffer : moved) {
    buffer->frontOffset = llvm::alignTo(end, buffer->alignment);
    end = *buffer->frontOffset + buffer->bytes;
  }
  return end;
}

/// The largest buffer that can still be moved, the first one of equals.
static Buffer *largestMovable(SmallVectorImpl<Buffer> &buffers) {
  Buffer *largest = nullptr;
  for (Buffer &buffer : buffers)
    if (buffer.canMove() && !buffer.frontOffset &&
        (!largest || buffer.bytes > largest->bytes))
      largest = &buffer;
  return largest;
}

Need ModulePlacement::needOf(Kernel &kernel) {
  kernel.frontBytes = layOutFront(kernel.buffers);
  bool hasDynamic = kernel.usesDynamic || kernel.dynamicBytes != 0;
  if (kernel.frontBytes)
    kernel.frontBytes = llvm::alignTo(
        kernel.frontBytes, hasDynamic ? dynamicAlignment : kMinAlignment);
  Need need;
  need.staticBytes = staticBytes(kernel.buffers);
  need.dynamicBytes = kernel.frontBytes + kernel.dynamicBytes;
  // The assembler puts dynamic memory behind the static buffers, at its
  // alignment.
  if (need.dynamicBytes)
    need.staticBytes = llvm::alignTo(need.staticBytes, dynamicAlignment);
  return need;
}

LogicalResult ModulePlacement::refuse(Kernel &kernel, Need need) {
  if (need.total() > kMaxSharedBytes) {
    InFlightDiagnostic diag =
        kernel.func.emitOpError("shared memory must be at most ")
        << kMaxSharedBytes << " bytes, got " << need.total() << ": "
        << need.total() - kernel.dynamicBytes << " of buffers and "
        << kernel.dynamicBytes << " of dynamic memory";
    diag.attachNote() << "make the buffers, or the dynamic_shared_memory_size "
                         "of the launch, smaller "
                         "by "
                      << need.total() - kMaxSharedBytes << " bytes";
    return diag;
  }
  InFlightDiagnostic diag =
      kernel.func.emitOpError(
          "static shared memory of device functions must be at most ")
      << kMaxStaticBytes << " bytes, got " << need.staticBytes;
  diag.attachNote()
      << "declare the buffers in the kernel and hand them to the functions";
  return diag;
}

LogicalResult ModulePlacement::plan(Kernel &kernel) {
  while (true) {
    Need need = needOf(kernel);
    if (staticBytes(kernel.buffers) <= kMaxStaticBytes &&
        need.total() <= kMaxSharedBytes)
      return success();
    Buffer *largest = largestMovable(kernel.buffers);
    if (!largest)
      return refuse(kernel, need);
    if (handWritten) {
      InFlightDiagnostic diag =
          kernel.func.emitOpError("static shared memory must be at most ")
          << kMaxStaticBytes << " bytes, got " << staticBytes(kernel.buffers)
          << ", and the module declares dynamic memory by hand";
      diag.attachNote(handWritten->getLoc())
          << "use gpu.dynamic_shared_memory instead of this";
      return diag;
    }
    largest->frontOffset = 0;
    dynamicAlignment = std::max(dynamicAlignment, largest->alignment);
  }
}

LogicalResult ModulePlacement::plan() {
  // Moving a buffer may raise the alignment of dynamic memory for the kernels
  // planned before.
  for (int64_t planned = 0; planned != dynamicAlignment;) {
    planned = dynamicAlignment;
    for (Kernel &kernel : kernels)
      if (failed(plan(kernel)))
        return failure();
  }
  if (!deviceFunctionUsesDynamic)
    return success();
  // A device function finds the program's dynamic memory at one place, whoever
  // calls it.
  int64_t front = 0;
  for (const Kernel &kernel : kernels)
    front = std::max(front, kernel.frontBytes);
  for (Kernel &kernel : kernels) {
    Need need = needOf(kernel);
    need.dynamicBytes += front - kernel.frontBytes;
    kernel.frontBytes = front;
    if (need.total() > kMaxSharedBytes)
      return refuse(kernel, need);
  }
  return success();
}
