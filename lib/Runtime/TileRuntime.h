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
  TILE_RUNTIME_CONTEXT_LOST = 4        // an earlier failure took the context
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

/// From here on no driver is called any more. For hosts whose driver entries
/// are about to become invalid, as at the end of a Python process.
TILE_RUNTIME_EXPORT void tile_runtime_shut_down(void);

#ifdef __cplusplus
}
#endif

#endif // TILE_RUNTIME_TILERUNTIME_H
