// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of the run-time library.
//
// Host code made by `gpu-to-llvm` calls the `mgpu*` entry points, which return
// no status. The caller of such host code brackets it:
//
//   tile_runtime_begin(driver, &options);
//   main(...);                              // compiled host code
//   if (tile_runtime_end(&failure)) ...     // the first failure of the bracket
//
// After the first failure the remaining mgpu* calls of the bracket do nothing,
// and tile_runtime_end releases what the bracket had acquired. The host code
// itself goes on: what it reads from its own memory is as it was. Nothing is
// printed. Brackets belong to a thread; each thread has its own.
//
// Without a bracket the same holds from the
// first failure until tile_runtime_last_error has been asked, except that
// nothing is released.

#ifndef TILE_RUNTIME_TILERUNTIME_H
#define TILE_RUNTIME_TILERUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define TILE_RUNTIME_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// Where the device is reached; made once, never destroyed.
typedef struct TileRuntimeDriver TileRuntimeDriver;

typedef enum TileRuntimeFailureKind {
  TILE_RUNTIME_OK = 0,
  TILE_RUNTIME_LAUNCH_FAILED = 1,      // a call was refused or went wrong
  TILE_RUNTIME_KERNEL_TIMEOUT = 2,     // a kernel did not end in time
  TILE_RUNTIME_DEVICE_UNAVAILABLE = 3, // no driver, no GPU, or one too old
  TILE_RUNTIME_CONTEXT_LOST = 4,       // the CUDA context is lost
  TILE_RUNTIME_INTERRUPTED = 5         // the caller ended a wait
} TileRuntimeFailureKind;

/// The texts live until the thread closes another bracket or asks for its last
/// error again; they are empty where nothing applies.
typedef struct TileRuntimeFailure {
  int32_t kind;
  int32_t code; // the CUresult, 0 if the runtime itself refused
  const char *call;
  const char *errorName;
  const char *errorText;
  const char *message; // all of it, for people
  const char *kernel;
  int64_t grid[3];
  int64_t block[3];
  int64_t cluster[3];
  int64_t sharedBytes;
} TileRuntimeFailure;

typedef struct TileRuntimeOptions {
  /// Device ordinal, or -1: the caller's current context, else device 0.
  int32_t device;
  /// Not 0: work goes to `stream` instead of streams of the runtime's own.
  int32_t hasStream;
  void *stream;
  /// The longest single wait for the device in seconds; 0 waits for ever.
  double timeoutSeconds;
  /// Asked about 50 times a second while this waits for the device; anything
  /// but 0 ends the wait as a timeout does. May be NULL.
  int (*isInterrupted)(void);
} TileRuntimeOptions;

typedef struct TileRuntimeDeviceFacts {
  char name[256];
  int32_t computeCapability; // 90 for sm_90
  int32_t multiprocessors;
  int32_t sharedBytesPerBlock;
  uint64_t memoryBytes;
} TileRuntimeDeviceFacts;

/// Loads the driver library at `path` (NULL: libcuda.so.1). Returns NULL if
/// that fails; `*why` is then a text that lives for ever.
TILE_RUNTIME_EXPORT TileRuntimeDriver *
tile_runtime_driver_load(const char *path, const char **why);

/// A driver without entries, to be filled by tile_runtime_driver_set. `name` is
/// that of the CUDA driver function without version suffix; returns 0 if the
/// runtime uses no such function.
TILE_RUNTIME_EXPORT TileRuntimeDriver *tile_runtime_driver_create(void);
TILE_RUNTIME_EXPORT int tile_runtime_driver_set(TileRuntimeDriver *driver,
                                                const char *name,
                                                void *function);
/// The name of an entry that is required and not set, or NULL.
TILE_RUNTIME_EXPORT const char *
tile_runtime_driver_missing(TileRuntimeDriver *driver);

/// The number of devices, or minus the CUresult. `*version` is the driver's
/// CUDA version (12080 for 12.8).
TILE_RUNTIME_EXPORT int tile_runtime_device_count(TileRuntimeDriver *driver,
                                                  int *version);
/// 0 or the CUresult.
TILE_RUNTIME_EXPORT int
tile_runtime_device_facts(TileRuntimeDriver *driver, int device,
                          TileRuntimeDeviceFacts *facts);
/// The name and description of a CUresult, valid for ever.
TILE_RUNTIME_EXPORT void tile_runtime_describe(TileRuntimeDriver *driver,
                                               int code, const char **name,
                                               const char **text);

/// Opens a bracket on this thread. A failure to do so is one of the bracket.
/// `driver` NULL is the one of libcuda.so.1.
TILE_RUNTIME_EXPORT void tile_runtime_begin(TileRuntimeDriver *driver,
                                            const TileRuntimeOptions *options);
/// Closes the innermost bracket: waits for the work of its own streams, and
/// returns the kind of its first failure.
TILE_RUNTIME_EXPORT int tile_runtime_end(TileRuntimeFailure *failure);

/// The first failure on this thread outside brackets, which is then forgotten.
TILE_RUNTIME_EXPORT int tile_runtime_last_error(TileRuntimeFailure *failure);

/// A launch without host code, except for where and on what.
typedef struct TileRuntimeLaunch {
  void *kernel; // of tile_runtime_kernel
  int64_t grid[3];
  int64_t block[3];
  int64_t cluster[3];
  int64_t sharedBytes;
  /// 0: `cluster` says nothing, the kernel's own is taken.
  int32_t hasCluster;
  int32_t argumentCount;
  /// Where the value of each kernel parameter is, from the first, in bytes.
  const int64_t *argumentOffsets;
} TileRuntimeLaunch;

/// The kernel `name` of what mgpuModuleLoad or mgpuModuleLoadJIT returned;
/// neither loads anything. It lives as long as the module.
TILE_RUNTIME_EXPORT void *tile_runtime_kernel(void *module, const char *name);

/// Launches on `device` (or -1) and `stream`, checked as host code's launches
/// are, without waiting or allocating on the device. The values are read before
/// it returns. The kind of its failure; tile_runtime_failure has the rest.
TILE_RUNTIME_EXPORT int tile_runtime_launch(TileRuntimeDriver *driver,
                                            const TileRuntimeLaunch *launch,
                                            int32_t device, void *stream,
                                            const void *arguments);
/// Loads a kernel on `device`, so that its first launch need not.
TILE_RUNTIME_EXPORT int tile_runtime_load(TileRuntimeDriver *driver,
                                          void *kernel, int32_t device);
/// Makes what comes next on `after` wait for what is on `before` by now.
TILE_RUNTIME_EXPORT int tile_runtime_order(TileRuntimeDriver *driver,
                                           int32_t device, void *before,
                                           void *after);
/// The failure of this thread's last call of the three above.
TILE_RUNTIME_EXPORT int tile_runtime_failure(TileRuntimeFailure *failure);

/// The ordinal of the device that `address` is of, or -1 for memory that no
/// device may use as its own. 0 or the CUresult.
TILE_RUNTIME_EXPORT int tile_runtime_pointer(TileRuntimeDriver *driver,
                                             uint64_t address, int *device);

/// What the host code's malloc, aligned_alloc and free are to be, so that one
/// knows whose the memory of a result is.
TILE_RUNTIME_EXPORT void *tile_runtime_malloc(size_t sizeBytes);
TILE_RUNTIME_EXPORT void *tile_runtime_aligned_alloc(size_t alignment,
                                                     size_t sizeBytes);
TILE_RUNTIME_EXPORT void tile_runtime_dealloc(void *pointer);
/// 1 if the host code allocated `pointer` and has not freed it: it is then the
/// caller's, to be given to tile_runtime_free once.
TILE_RUNTIME_EXPORT int tile_runtime_take(void *pointer);
TILE_RUNTIME_EXPORT void tile_runtime_free(void *pointer);

/// What host code calls by this name to copy one memref into another of the
/// same extents, whatever their strides: upstream's function, here so that
/// programs need no library of MLIR's. Both are unranked descriptors: a rank,
/// and a pointer to the ranked one.
TILE_RUNTIME_EXPORT void memrefCopy(int64_t elementBytes, void *source,
                                    void *target);

/// From here on no driver is called any more. For hosts whose driver entries
/// are about to become invalid, as at the end of a Python process.
TILE_RUNTIME_EXPORT void tile_runtime_shut_down(void);

#ifdef __cplusplus
}
#endif

#endif // TILE_RUNTIME_TILERUNTIME_H
