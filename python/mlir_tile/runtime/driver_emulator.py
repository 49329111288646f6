# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA driver API, as far as the run-time library calls it, on top of `tile_emulator`.

There is one driver table for the process; each host call brings its own emulated device, which its
thread carries in a `Session`. Launches run at once, so streams and events are only numbers. No
exception crosses the C++ frames below: it is kept in the session, and `Session.take_exception`
hands it to the caller of the host function.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from mlir_tile.errors import EmulatorError, Error
from mlir_tile.runtime.kernel_signature import SharedNames
from mlir_tile.runtime.library import library

__all__ = ["Session", "emulator_driver"]

SUCCESS = 0
INVALID_VALUE = 1
INVALID_DEVICE = 101
NOT_FOUND = 500
UNKNOWN = 999

_ERRORS = {
    SUCCESS: ("CUDA_SUCCESS", "no error"),
    INVALID_VALUE: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    INVALID_DEVICE: ("CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    NOT_FOUND: ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    UNKNOWN: ("CUDA_ERROR_UNKNOWN", "the emulator stopped"),
}
_ERROR_TEXTS = {
    code: tuple(ctypes.create_string_buffer(text.encode()) for text in texts)
    for code, texts in _ERRORS.items()
}

# An H200's limits: what runs here must run there.
LARGEST_CLUSTER = 16
MAX_THREADS_PER_BLOCK = 1024
SHARED_BYTES_PER_BLOCK = 227 * 1024
DEFAULT_DYNAMIC_SHARED_BYTES = 48 * 1024
_DEVICE_ATTRIBUTES = {16: 132, 75: 9, 76: 0, 97: SHARED_BYTES_PER_BLOCK, 115: 0}
_CONTEXT = 1
FIRST_DEVICE_ADDRESS = 1 << 47

_P = ctypes.c_void_p
_INT = ctypes.c_int
_UINT = ctypes.c_uint
_U64 = ctypes.c_uint64
_SIZE = ctypes.c_size_t
_INT_P = ctypes.POINTER(ctypes.c_int)
_P_P = ctypes.POINTER(ctypes.c_void_p)
_U64_P = ctypes.POINTER(ctypes.c_uint64)


# The emulator's advice, in words of what its programs are written in.
_WORDS = {
    "wait": "execute tile.wait on the copy's mbarrier before touching these bytes",
    "wait-first": "execute tile.wait on the first copy's mbarrier before the second copy",
    "acknowledge": "let the reader tile.wait for the copy, and tile.arrive before the next one",
    "sync": "put a gpu.barrier, or a tile.arrive and a tile.wait, between the two accesses",
    "fence": "execute nvvm.fence.proxy after the ordinary access and before the copy, or give the "
    "function tile.insert_sync",
    "scope": "give the tile.arrive and the tile.wait between CTAs #tile.scope<cluster>",
    "free": "let a thread that has waited for the copy tell the writer so (tile.arrive, "
    "nvvm.cluster.arrive)",
    "bytes": "let tile.expect count exactly the destinations of the phase's copies",
    "arm": "execute tile.expect once for the phase",
    "copies": "issue the tile.copy_async that the phase counts, and check its cta and mbarrier",
    "count": "check the count of nvgpu.mbarrier.init, and who arrives on which CTA's barrier",
    "enter": "put nvvm.cluster.arrive and nvvm.cluster.wait at the start, before the first copy to "
    "a peer",
    "leave": "end the kernel with nvvm.cluster.arrive and nvvm.cluster.wait",
    "leave-later": "end the kernel with nvvm.cluster.arrive and nvvm.cluster.wait, after the "
    "receiver has waited",
    "steps": "look for an endless loop, or use a smaller problem",
    "seconds": "use a smaller problem, or a longer timeout (timeout, or --timeout)",
}


class _ClusterAttribute(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("dim", ctypes.c_uint * 3),
        ("rest", ctypes.c_char * 52),
    ]


class _LaunchConfig(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_ClusterAttribute)),
        ("attribute_count", ctypes.c_uint),
    ]

    @property
    def cluster(self) -> tuple[int, int, int]:
        """The cluster of the launch; the runtime passes no other attribute."""
        if self.attribute_count == 0:
            return (1, 1, 1)
        dim = self.attributes[0].dim
        return (int(dim[0]), int(dim[1]), int(dim[2]))


_CONFIG_P = ctypes.POINTER(_LaunchConfig)


class _Result(Exception):
    """Ends an entry with a CUresult that is not a success."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Modules:
    """Parsed PTX and its kernels by handle; independent of any device, so kept between sessions."""

    def __init__(self) -> None:
        self._handles = itertools.count(1)
        self._modules: dict[int, Any] = {}
        self._kernels: dict[int, tuple[int, Any, Any]] = {}

    def add(self, ptx: str) -> int:
        import tile_emulator as te

        handle = next(self._handles)
        self._modules[handle] = te.parse(ptx)
        return handle

    def remove(self, handle: int) -> None:
        self._modules.pop(handle, None)
        for kernel in [k for k, (module, _, _) in self._kernels.items() if module == handle]:
            del self._kernels[kernel]

    def kernel_handle(self, handle: int, name: str) -> int:
        module = self._modules[handle]
        if name not in module.kernels:
            raise _Result(NOT_FOUND)
        kernel = next(self._handles)
        self._kernels[kernel] = (handle, module, module.kernels[name])
        return kernel

    def kernel(self, handle: int) -> tuple[Any, Any]:
        _, module, kernel = self._kernels[handle]
        return module, kernel


_modules = _Modules()
_handles = itertools.count(1 << 20)
_this_thread = threading.local()


class Session:
    """The emulated device of one host call; a context manager around it.

    Raises `Error` if the emulator is not installed, and what the emulator says to `schedule` and
    `checks`.
    """

    def __init__(
        self,
        schedule: str | None = None,
        checks: str | None = None,
        timeout: float | None = None,
        keep_going: bool = False,
        names: SharedNames | None = None,
    ) -> None:
        try:
            import tile_emulator as te
        except ModuleNotFoundError as error:
            raise Error(f'device="emulator" needs the package tile_emulator: {error}') from error
        options: dict[str, Any] = {"schedule": schedule, "checks": checks, "max_seconds": timeout}
        given = {k: v for k, v in options.items() if v is not None}
        named = {
            kernel: [te.SharedName(**entry) for entry in entries]
            for kernel, entries in (names or {}).items()
        }
        self.device = te.Device(**given, keep_going=keep_going, names=named, words=_WORDS)
        self.reports: list[Any] = []
        self._exception: BaseException | None = None
        self._managed: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self._outer: Session | None = None

    def __enter__(self) -> Session:
        self._outer = getattr(_this_thread, "session", None)
        _this_thread.session = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _this_thread.session = self._outer

    def keep(self, exception: BaseException) -> None:
        """Remember the first exception that an entry of the driver met."""
        self._exception = self._exception or exception

    def take_exception(self) -> BaseException | None:
        """Return the remembered exception and forget it."""
        exception, self._exception = self._exception, None
        return exception

    def allocate(self, size_bytes: int) -> int:
        """Return new device memory."""
        return int(self.device.alloc(size_bytes))

    def allocate_managed(self, size_bytes: int) -> int:
        """Return memory that the host program itself may read and write."""
        buffer = ctypes.create_string_buffer(size_bytes)
        address = ctypes.addressof(buffer)
        self._managed[address] = buffer
        self.device.map_host(address, size_bytes)
        return address

    def free(self, address: int) -> None:
        """Release what `allocate` or `allocate_managed` returned."""
        if self._managed.pop(address, None) is not None:
            self.device.unmap_host(address)
        else:
            self.device.free(address)

    def is_on_device(self, address: int) -> bool:
        """Whether an address is the emulator's: those of processes are below."""
        return address >= FIRST_DEVICE_ADDRESS

    def copy(self, target: int, source: int, size_bytes: int) -> None:
        """Copy between any two of host and device memory."""
        if self.is_on_device(source):
            data = bytes(self.device.read(source, size_bytes))
        else:
            data = ctypes.string_at(source, size_bytes)
        self.store(target, data)

    def store(self, target: int, data: bytes) -> None:
        """Write bytes to host or device memory."""
        if self.is_on_device(target):
            self.device.write(target, data)
        else:
            ctypes.memmove(target, data, len(data))

    def launch(self, handle: int, config: _LaunchConfig, arguments: Any) -> None:
        """Run a kernel to its end."""
        module, kernel = _modules.kernel(handle)
        values = [
            ctypes.string_at(arguments[number], parameter.size)
            for number, parameter in enumerate(kernel.params)
        ]
        report = self.device.launch(
            module,
            kernel.name,
            grid=tuple(config.grid),
            block=tuple(config.block),
            cluster=config.cluster,
            smem=int(config.shared_bytes),
            args=values,
        )
        self.reports += report.reports


def _session() -> Session:
    session: Session = _this_thread.session
    return session


def _function_attribute(handle: int, attribute: int) -> int:
    _, kernel = _modules.kernel(handle)
    if attribute == 0:
        limit = kernel.reqntid or kernel.maxntid
        return limit[0] * limit[1] * limit[2] if limit else MAX_THREADS_PER_BLOCK
    if attribute == 1:
        return sum(int(variable.size) for variable in kernel.shared)
    if attribute == 8:
        return DEFAULT_DYNAMIC_SHARED_BYTES
    if 11 <= attribute <= 13:
        required = kernel.reqnctapercluster
        return int(required[attribute - 11]) if required else 0
    return 0


_entries: list[tuple[str, list[Any], Callable[..., None]]] = []


def _entry(
    *parameters: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function the driver's entry of the same name."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        _entries.append((function.__name__, list(parameters), function))
        return function

    return register


def _nothing(name: str, *parameters: Any) -> None:
    _entries.append((name, list(parameters), lambda *_: None))


def _new_handle(name: str) -> None:
    def create(out: Any, _flags: int) -> None:
        out[0] = next(_handles)

    _entries.append((name, [_P_P, _UINT], create))


_nothing("cuInit", _UINT)
_nothing("cuCtxSetCurrent", _P)
_nothing("cuCtxPushCurrent", _P)
_nothing("cuCtxPopCurrent", _P_P)
_nothing("cuFuncSetAttribute", _P, _INT, _INT)
_nothing("cuStreamDestroy", _P)
_nothing("cuStreamQuery", _P)
_nothing("cuStreamSynchronize", _P)
_nothing("cuStreamWaitEvent", _P, _P, _UINT)
_nothing("cuEventDestroy", _P)
_nothing("cuEventRecord", _P, _P)
_nothing("cuEventQuery", _P)
_nothing("cuEventSynchronize", _P)
_new_handle("cuStreamCreate")
_new_handle("cuEventCreate")


@_entry(_INT_P)
def cuDriverGetVersion(version: Any) -> None:
    version[0] = 13000


@_entry(_INT, _P_P)
def cuGetErrorName(code: int, name: Any) -> None:
    name[0] = ctypes.addressof(_ERROR_TEXTS.get(code, _ERROR_TEXTS[UNKNOWN])[0])


@_entry(_INT, _P_P)
def cuGetErrorString(code: int, text: Any) -> None:
    text[0] = ctypes.addressof(_ERROR_TEXTS.get(code, _ERROR_TEXTS[UNKNOWN])[1])


@_entry(_INT_P)
def cuDeviceGetCount(count: Any) -> None:
    count[0] = 1


@_entry(_INT_P, _INT)
def cuDeviceGet(device: Any, ordinal: int) -> None:
    if ordinal:
        raise _Result(INVALID_DEVICE)
    device[0] = 0


@_entry(_P, _INT, _INT)
def cuDeviceGetName(name: int, size: int, _device: int) -> None:
    text = b"emulator\0"[:size]
    ctypes.memmove(name, text, len(text))


@_entry(_INT_P, _INT, _INT)
def cuDeviceGetAttribute(value: Any, attribute: int, _device: int) -> None:
    value[0] = _DEVICE_ATTRIBUTES[attribute]


@_entry(ctypes.POINTER(_SIZE), _INT)
def cuDeviceTotalMem(size: Any, _device: int) -> None:
    size[0] = 1 << 37


@_entry(_P_P, _INT)
def cuDevicePrimaryCtxRetain(context: Any, _device: int) -> None:
    context[0] = _CONTEXT


@_entry(_P_P)
def cuCtxGetCurrent(context: Any) -> None:
    context[0] = None


@_entry(_INT_P)
def cuCtxGetDevice(device: Any) -> None:
    device[0] = 0


@_entry(_P_P, _P, _UINT, _INT_P, _P_P)
def cuModuleLoadDataEx(module: Any, image: int, _count: int, _options: Any, _values: Any) -> None:
    content = ctypes.string_at(image)
    if content.startswith((b"\x7fELF", b"P\xed")):
        text = "the emulator runs PTX, and this is a cubin or fat binary: embed the PTX"
        raise EmulatorError(text, kind="ptx")
    module[0] = _modules.add(content.decode())


@_entry(_P)
def cuModuleUnload(module: int) -> None:
    _modules.remove(module)


@_entry(_P_P, _P, ctypes.c_char_p)
def cuModuleGetFunction(function: Any, module: int, name: bytes) -> None:
    function[0] = _modules.kernel_handle(module, name.decode())


@_entry(_INT_P, _INT, _P)
def cuFuncGetAttribute(value: Any, attribute: int, function: int) -> None:
    value[0] = _function_attribute(function, attribute)


@_entry(_INT_P, _P, _CONFIG_P)
def cuOccupancyMaxPotentialClusterSize(size: Any, _function: int, _config: Any) -> None:
    size[0] = LARGEST_CLUSTER


@_entry(_INT_P, _P, _CONFIG_P)
def cuOccupancyMaxActiveClusters(count: Any, _function: int, config: Any) -> None:
    x, y, z = config[0].cluster
    count[0] = int(x * y * z <= LARGEST_CLUSTER)


@_entry(_CONFIG_P, _P, _P_P, _P_P)
def cuLaunchKernelEx(config: Any, function: int, arguments: Any, _extra: Any) -> None:
    _session().launch(function, config[0], arguments)


@_entry(_U64_P, _SIZE)
def cuMemAlloc(address: Any, size_bytes: int) -> None:
    address[0] = _session().allocate(size_bytes)


@_entry(_U64_P, _SIZE, _UINT)
def cuMemAllocManaged(address: Any, size_bytes: int, _flags: int) -> None:
    address[0] = _session().allocate_managed(size_bytes)


@_entry(_U64)
def cuMemFree(address: int) -> None:
    _session().free(address)


@_entry(_U64, _U64, _SIZE, _P)
def cuMemcpyAsync(target: int, source: int, size_bytes: int, _stream: int) -> None:
    _session().copy(target, source, size_bytes)


@_entry(_U64, ctypes.c_ushort, _SIZE, _P)
def cuMemsetD16Async(target: int, value: int, count: int, _stream: int) -> None:
    _session().store(target, value.to_bytes(2, "little") * count)


@_entry(_U64, _UINT, _SIZE, _P)
def cuMemsetD32Async(target: int, value: int, count: int, _stream: int) -> None:
    _session().store(target, value.to_bytes(4, "little") * count)


@_entry(_P, _SIZE, _UINT)
def cuMemHostRegister(address: int, size_bytes: int, _flags: int) -> None:
    _session().device.map_host(address, size_bytes)


@_entry(_P)
def cuMemHostUnregister(address: int) -> None:
    _session().device.unmap_host(address)


def _guarded(function: Callable[..., None]) -> Callable[..., int]:
    """Return the entry as C calls it: a CUresult, and never an exception."""

    def entry(*arguments: Any) -> int:
        try:
            function(*arguments)
        except _Result as result:
            return result.code
        except BaseException as exception:
            session = getattr(_this_thread, "session", None)
            if session is not None:
                session.keep(exception)
            return UNKNOWN
        return SUCCESS

    return entry


@functools.cache
def emulator_driver() -> int:
    """Return the driver table over the emulator, made once."""
    runtime = library()
    driver = int(runtime.tile_runtime_driver_create())
    for name, parameters, function in _entries:
        callback = ctypes.CFUNCTYPE(_INT, *parameters)(_guarded(function))
        _callbacks.append(callback)
        known = runtime.tile_runtime_driver_set(
            driver, name.encode(), ctypes.cast(callback, ctypes.c_void_p)
        )
        assert known, name
    missing = runtime.tile_runtime_driver_missing(driver)
    assert missing is None, missing
    return driver


_callbacks: list[Any] = []  # the table refers to them until the process ends
