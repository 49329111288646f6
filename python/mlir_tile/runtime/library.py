# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The run-time library `libtile_runtime.so` through ctypes.

Declares its C interface (`lib/Runtime/TileRuntime.h`); `mlir_tile.errors` says which exception a
failure is. Knows nothing of MLIR, NumPy or the emulator.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import signal
import threading
from typing import Any, NoReturn

from mlir_tile.errors import DeviceUnavailable, Error, FailureKind, Launch, exception_of
from mlir_tile.paths import runtime_library
from mlir_tile.ptx_versions import dotted, newest_ptx

__all__ = [
    "DeviceFacts",
    "Failure",
    "Options",
    "cuda_driver",
    "interruption",
    "library",
]

OLDEST_COMPUTE_CAPABILITY = 90

# What compiled host code may call.
ENTRY_POINTS = (
    "mgpuEventCreate",
    "mgpuEventDestroy",
    "mgpuEventRecord",
    "mgpuEventSynchronize",
    "mgpuExpectExtents",
    "mgpuExpectLaunch",
    "mgpuExpectMultiple",
    "mgpuLaunchClusterKernel",
    "mgpuLaunchKernel",
    "mgpuMemAlloc",
    "mgpuMemFree",
    "mgpuMemHostRegister",
    "mgpuMemHostRegisterMemRef",
    "mgpuMemHostUnregister",
    "mgpuMemHostUnregisterMemRef",
    "mgpuMemcpy",
    "mgpuMemset16",
    "mgpuMemset32",
    "mgpuModuleGetFunction",
    "mgpuModuleLoad",
    "mgpuModuleLoadJIT",
    "mgpuModuleUnload",
    "mgpuSetDefaultDevice",
    "mgpuStreamCreate",
    "mgpuStreamDestroy",
    "mgpuStreamSynchronize",
    "mgpuStreamWaitEvent",
    "mgpuTensorMapEncodeTiled",
    "mgpuTensorMapEncodeTiledMemref",
)

# What its own allocations and copies are, by the names that it calls.
HOST_ALLOCATORS = {
    "malloc": "tile_runtime_malloc",
    "aligned_alloc": "tile_runtime_aligned_alloc",
    "free": "tile_runtime_dealloc",
    "memrefCopy": "memrefCopy",
}

_Dim3 = ctypes.c_int64 * 3


class Failure(ctypes.Structure):
    """`TileRuntimeFailure`: the first failure of a host call."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("call", ctypes.c_char_p),
        ("error_name", ctypes.c_char_p),
        ("error_text", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
        ("kernel", ctypes.c_char_p),
        ("grid", _Dim3),
        ("block", _Dim3),
        ("cluster", _Dim3),
        ("shared_bytes", ctypes.c_int64),
    ]

    def launch(self) -> Launch | None:
        """Return the launch that failed, if it was one."""
        if not self.kernel:
            return None
        grid, block, cluster = (
            (int(dim[0]), int(dim[1]), int(dim[2])) for dim in (self.grid, self.block, self.cluster)
        )
        return Launch(self.kernel.decode(), grid, block, cluster, int(self.shared_bytes))

    def throw(self) -> NoReturn:
        """Raise this failure as the exception that it is."""
        if self.kind == FailureKind.INTERRUPTED:
            # The signal was taken away from its handler, which may do more than raise.
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        raise exception_of(
            self.kind,
            self.code,
            self.message.decode(errors="replace"),
            call=self.call.decode(),
            name=self.error_name.decode(),
            text=self.error_text.decode(),
            launch=self.launch(),
            ptx_advice=advice_on_ptx,
        )


class DirectLaunch(ctypes.Structure):
    """`TileRuntimeLaunch`: a launch without host code, except for where and on what."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("grid", _Dim3),
        ("block", _Dim3),
        ("cluster", _Dim3),
        ("shared_bytes", ctypes.c_int64),
        ("has_cluster", ctypes.c_int32),
        ("argument_count", ctypes.c_int32),
        ("argument_offsets", ctypes.POINTER(ctypes.c_int64)),
    ]


def advice_on_ptx() -> str:
    """Return what to say of PTX that is too new for the driver, as the end of a sentence."""
    from mlir_tile.runtime.devices import device_info

    major, _, minor = device_info().driver_version.partition(".")
    newest = newest_ptx((int(major), int(minor))) if minor else None
    if not newest:
        return ""
    return (
        f"; the driver is of CUDA {major}.{minor} and takes PTX {dotted(newest)} at most: compile"
        f" with features +ptx{newest}, or install a newer driver"
    )


class Options(ctypes.Structure):
    """`TileRuntimeOptions`: where and how a host call runs."""

    _fields_ = [
        ("device", ctypes.c_int32),
        ("has_stream", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
        ("timeout_seconds", ctypes.c_double),
        ("is_interrupted", ctypes.c_void_p),
    ]


# Tells of Ctrl-C without running any Python, in which it would be raised: no exception can cross
# the frames of the host code.
_is_interrupted = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.pythonapi.PyOS_InterruptOccurred)


def interruption() -> int | None:
    """Return what `Options.is_interrupted` is on this thread: only the main one gets signals."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return ctypes.cast(_is_interrupted, ctypes.c_void_p).value


class DeviceFacts(ctypes.Structure):
    """`TileRuntimeDeviceFacts`: what does not change about a device."""

    _fields_ = [
        ("name", ctypes.c_char * 256),
        ("compute_capability", ctypes.c_int32),
        ("multiprocessors", ctypes.c_int32),
        ("shared_bytes_per_block", ctypes.c_int32),
        ("memory_bytes", ctypes.c_uint64),
    ]


@functools.cache
def library() -> ctypes.CDLL:
    """Load the library once; raise `Error` if it is not there."""
    path = runtime_library()
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise Error(f"the run-time library cannot be loaded from {path}: {error}") from error
    driver, text = ctypes.c_void_p, ctypes.c_char_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "tile_runtime_driver_load": (driver, [text, ctypes.POINTER(text)]),
        "tile_runtime_driver_create": (driver, []),
        "tile_runtime_driver_set": (ctypes.c_int, [driver, text, ctypes.c_void_p]),
        "tile_runtime_driver_missing": (text, [driver]),
        "tile_runtime_device_count": (ctypes.c_int, [driver, ctypes.POINTER(ctypes.c_int)]),
        "tile_runtime_device_facts": (
            ctypes.c_int,
            [driver, ctypes.c_int, ctypes.POINTER(DeviceFacts)],
        ),
        "tile_runtime_describe": (
            None,
            [driver, ctypes.c_int, ctypes.POINTER(text), ctypes.POINTER(text)],
        ),
        "tile_runtime_begin": (None, [driver, ctypes.POINTER(Options)]),
        "tile_runtime_end": (ctypes.c_int, [ctypes.POINTER(Failure)]),
        "tile_runtime_last_error": (ctypes.c_int, [ctypes.POINTER(Failure)]),
        "tile_runtime_shut_down": (None, []),
        "mgpuModuleLoad": (ctypes.c_void_p, [text, ctypes.c_size_t]),
        "mgpuModuleLoadJIT": (ctypes.c_void_p, [text, ctypes.c_int]),
        "mgpuModuleUnload": (None, [ctypes.c_void_p]),
        "tile_runtime_kernel": (ctypes.c_void_p, [ctypes.c_void_p, text]),
        # The values of the arguments are bytes, the launch is its address.
        "tile_runtime_launch": (
            ctypes.c_int,
            [driver, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, text],
        ),
        "tile_runtime_load": (ctypes.c_int, [driver, ctypes.c_void_p, ctypes.c_int]),
        "tile_runtime_order": (
            ctypes.c_int,
            [driver, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p],
        ),
        "tile_runtime_failure": (ctypes.c_int, [ctypes.POINTER(Failure)]),
        "tile_runtime_pointer": (
            ctypes.c_int,
            [driver, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int)],
        ),
        "tile_runtime_take": (ctypes.c_int, [ctypes.c_void_p]),
        "tile_runtime_free": (None, [ctypes.c_void_p]),
    }
    for name, (result, parameters) in signatures.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = parameters
    # Modules that outlive the interpreter must not call back into it.
    atexit.register(loaded.tile_runtime_shut_down)
    return loaded


@functools.cache
def cuda_driver() -> int:
    """Return the driver table over `libcuda.so.1`; raise `DeviceUnavailable` without one.

    `MLIR_TILE_DRIVER` names another library with the driver's symbols, for tests.
    """
    path = os.environ.get("MLIR_TILE_DRIVER")
    why = ctypes.c_char_p()
    driver = library().tile_runtime_driver_load(path.encode() if path else None, ctypes.byref(why))
    if not driver:
        reason = (why.value or b"").decode()
        raise DeviceUnavailable(f"no CUDA driver: {reason}")
    return int(driver)


def describe(driver: int, code: int) -> str:
    """Return the driver's name and description of a CUresult."""
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    library().tile_runtime_describe(driver, code, ctypes.byref(name), ctypes.byref(text))
    return f"{(name.value or b'').decode()} ({(text.value or b'').decode()})"
