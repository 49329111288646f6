# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mgpu* entry points called one by one, as host code does, in and outside brackets."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import fake_cuda
import numpy as np
import pytest

from mlir_tile.errors import FailureKind
from mlir_tile.paths import runtime_library
from mlir_tile.runtime import devices
from mlir_tile.runtime.library import (
    ENTRY_POINTS,
    Failure,
    Options,
    library,
)

SOURCES = Path(__file__).parents[2] / "lib" / "Runtime"
POINTERS = (
    "mgpuMemAlloc",
    "mgpuStreamCreate",
    "mgpuEventCreate",
    "mgpuModuleLoad",
    "mgpuModuleLoadJIT",
    "mgpuModuleGetFunction",
    "mgpuTensorMapEncodeTiledMemref",
)


@pytest.fixture
def mgpu() -> Callable[..., int | None]:
    """Return a caller of entry points by name without their prefix."""

    def call(name: str, *arguments: object) -> int | None:
        function = getattr(library(), f"mgpu{name}")
        function.restype = ctypes.c_void_p if f"mgpu{name}" in POINTERS else None
        converted = [ctypes.c_void_p(a) if a is None else a for a in arguments]
        return function(*converted)

    return call


@contextmanager
def bracket(timeout: float = 0.0, stream: int | None = None) -> Iterator[Failure]:
    failure = Failure()
    options = Options(-1, stream is not None, stream, timeout)
    library().tile_runtime_begin(devices.cuda_driver(), ctypes.byref(options))
    try:
        yield failure
    finally:
        library().tile_runtime_end(ctypes.byref(failure))


def pointer(value: int | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(value)


def descriptor(array: np.ndarray, offset: int = 0) -> ctypes.Array[ctypes.c_int64]:
    strides = [stride // array.itemsize for stride in array.strides]
    base = array.ctypes.data - offset * array.itemsize
    fields = [base, base, offset, *array.shape, *strides]
    return (ctypes.c_int64 * len(fields))(*fields)


def test_events_order_and_are_waited_for(fake: fake_cuda.FakeDriver, mgpu) -> None:
    with bracket() as failure:
        stream, event = mgpu("StreamCreate"), mgpu("EventCreate")
        mgpu("EventRecord", pointer(event), pointer(stream))
        mgpu("EventSynchronize", pointer(event))
    assert failure.kind == 0
    assert "cuEventSynchronize" in fake.log()


def test_waiting_for_an_event_ends_with_the_time(fake: fake_cuda.FakeDriver, mgpu) -> None:
    with bracket(timeout=0.02) as failure:
        event = mgpu("EventCreate")
        fake.hang(now=True)
        mgpu("EventSynchronize", pointer(event))
    assert failure.message.startswith(b"work that was on the stream before did not end within")
    fake.forget()


@pytest.mark.parametrize("name", ["cuEventQuery", "cuEventSynchronize"])
def test_a_failing_wait_for_an_event_is_recorded(
    name: str, fake: fake_cuda.FakeDriver, mgpu
) -> None:
    fake.fail(name)
    with bracket(timeout=600.0 if name == "cuEventQuery" else 0.0) as failure:
        mgpu("EventSynchronize", pointer(mgpu("EventCreate")))
    assert failure.call == name.encode()


def test_host_code_is_given_every_entry_point() -> None:
    text = "".join(path.read_text() for path in sorted(SOURCES.glob("*.cpp")))
    assert tuple(sorted(set(re.findall(r"\bmgpu\w+(?=\()", text)))) == ENTRY_POINTS


SHADOWED = """
import ctypes, os, sys
shadow = ctypes.CDLL(os.environ["SHADOW"], ctypes.RTLD_GLOBAL)
sys.path.insert(0, os.environ["TESTS"])
import numpy as np
from host_programs import *
from fake_cuda import FakeDriver
FakeDriver(os.environ["MLIR_TILE_DRIVER"])
compile_text(FILL).invoke("main", np.zeros(64, np.float32), 1.0, device="cuda")
print("ours")
"""


def test_another_library_with_the_same_names_is_not_called(
    fake_driver_library: Path, tmp_path: Path
) -> None:
    source, shadow = tmp_path / "shadow.cpp", tmp_path / "libshadow.so"
    functions = "".join(f'extern "C" void {name}() {{ abort(); }}\n' for name in ENTRY_POINTS)
    source.write_text("#include <cstdlib>\n" + functions)
    command = [str(fake_cuda.compiler()), "-shared", "-fPIC", "-o", str(shadow), str(source)]
    subprocess.run(command, check=True)
    environment = {
        **os.environ,
        "SHADOW": str(shadow),
        "TESTS": str(Path(__file__).parent),
        "MLIR_TILE_DRIVER": str(fake_driver_library),
    }
    done = subprocess.run(
        [sys.executable, "-c", SHADOWED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ours\n", "")


def launch(mgpu, module: int | None, stream: int | None) -> None:
    function = mgpu("ModuleGetFunction", pointer(module), b"some_kernel")
    sizes = [ctypes.c_int64(1)] * 6
    mgpu("LaunchKernel", pointer(function), *sizes, 0, pointer(stream), None, None, 0)


@pytest.fixture
def modules(mgpu) -> Iterator[list[int | None]]:
    loaded = [mgpu("ModuleLoadJIT", b"some PTX\0", 2) for _ in range(2)]
    yield loaded
    for module in loaded:
        mgpu("ModuleUnload", pointer(module))


def test_loading_a_module_does_not_wait_for_a_kernel_that_hangs(
    fake: fake_cuda.FakeDriver, modules, mgpu
) -> None:
    fake.hang()
    with bracket(timeout=0.02) as failure:
        stream = mgpu("StreamCreate")
        launch(mgpu, modules[0], stream)
        launch(mgpu, modules[1], stream)
    assert failure.message.startswith(b"kernel 'some_kernel'")
    assert fake.log().count("cuModuleLoadDataEx") == 1
    fake.forget()


def test_the_error_of_a_kernel_arrives_before_its_stream_is_gone(
    fake: fake_cuda.FakeDriver, modules, mgpu
) -> None:
    with bracket() as failure:
        stream = mgpu("StreamCreate")
        launch(mgpu, modules[0], stream)
        fake.also_fail_stream_synchronize(fake_cuda.ILLEGAL_ADDRESS)
        mgpu("StreamDestroy", pointer(stream))
    assert failure.message.startswith(b"kernel 'some_kernel' (grid 1x1x1")


def test_freeing_memory_does_not_wait_for_a_kernel_that_hangs(
    fake: fake_cuda.FakeDriver, modules, mgpu
) -> None:
    fake.hang()
    with bracket(timeout=0.02) as failure:
        memory = mgpu("MemAlloc", ctypes.c_uint64(64), None, False)
        launch(mgpu, modules[0], mgpu("StreamCreate"))
        mgpu("MemFree", pointer(memory), None)
    assert failure.message.startswith(b"kernel 'some_kernel'")
    assert "cuMemFree" not in fake.log()
    fake.forget()


def test_work_on_a_given_stream_is_not_waited_for(
    fake: fake_cuda.FakeDriver, modules, mgpu
) -> None:
    with bracket(stream=0x77) as failure:
        launch(mgpu, modules[0], mgpu("StreamCreate"))
    assert failure.kind == 0
    assert "cuStreamSynchronize" not in fake.log()


def test_what_ends_with_the_call_is_waited_for_on_a_given_stream_too(
    fake: fake_cuda.FakeDriver, modules, mgpu
) -> None:
    array = np.zeros((4, 8), np.float16)
    where = pointer(array.ctypes.data)
    with bracket(stream=0x77) as failure:
        mgpu("MemHostRegister", where, ctypes.c_uint64(array.nbytes))
        launch(mgpu, modules[0], mgpu("StreamCreate"))
    assert failure.kind == 0
    log = fake.log()
    assert log.index("cuStreamSynchronize") < log.index("cuMemHostUnregister")
    box = (ctypes.c_int64 * 2)(2, 4)
    arguments = (ctypes.c_int64(2), descriptor(array), 6, 0, 0, 0, 0, box)
    with bracket(stream=0x77) as failure:
        mgpu("TensorMapEncodeTiledMemref", *arguments)
        fake.clear_log()
        launch(mgpu, modules[0], mgpu("StreamCreate"))
    assert failure.kind == 0
    log = fake.log()
    assert log.index("cuStreamSynchronize") < log.index("cuMemFree")


def test_several_suspects_are_all_named(fake: fake_cuda.FakeDriver, modules, mgpu) -> None:
    with bracket() as failure:
        streams = [mgpu("StreamCreate") for _ in range(2)]
        for stream in streams:
            launch(mgpu, modules[0], stream)
        fake.also_fail_stream_synchronize(fake_cuda.ILLEGAL_ADDRESS)
        mgpu("StreamSynchronize", pointer(streams[0]))
    assert failure.message.startswith(
        b"one of the kernels 'some_kernel', 'some_kernel' failed with CUDA_ERROR_ILLEGAL_ADDRESS"
    )


def test_an_empty_allocation_is_null(fake: fake_cuda.FakeDriver, mgpu) -> None:
    with bracket() as failure:
        assert mgpu("MemAlloc", ctypes.c_uint64(0), None, False) is None
        mgpu("MemFree", None, None)
    assert failure.kind == 0


def test_memory_outlives_a_host_call_that_succeeds(fake: fake_cuda.FakeDriver, mgpu) -> None:
    with bracket() as failure:
        memory = mgpu("MemAlloc", ctypes.c_uint64(64), None, False)
    assert failure.kind == 0
    assert fake.leaks() == {"memory": 1}
    with bracket() as failure:
        mgpu("MemFree", pointer(memory), None)
    assert failure.kind == 0


def test_shared_memory_that_cannot_be_had_can_still_be_written(
    fake: fake_cuda.FakeDriver, mgpu
) -> None:
    fake.fail("cuMemAllocManaged")
    with bracket() as failure:
        memory = mgpu("MemAlloc", ctypes.c_uint64(64), None, True)
        ctypes.memset(memory, 1, 64)
        later = mgpu("MemAlloc", ctypes.c_uint64(1 << 16), None, True)
        ctypes.memset(later, 1, 1 << 16)
    assert failure.call == b"cuMemAllocManaged"


def test_host_memory_is_registered_once_and_released_with_the_call(
    fake: fake_cuda.FakeDriver, mgpu
) -> None:
    array = np.zeros(16, np.float32)
    with bracket() as failure:
        for _ in range(2):
            mgpu("MemHostRegister", pointer(array.ctypes.data), ctypes.c_uint64(array.nbytes))
    assert failure.kind == 0


def test_memory_that_somebody_else_registered_stays_registered(
    fake: fake_cuda.FakeDriver, mgpu
) -> None:
    array = np.zeros(16, np.float32)
    where = pointer(array.ctypes.data)
    foreign = ctypes.CDLL(str(fake.path))
    foreign.cuMemHostRegister_v2(where, ctypes.c_size_t(array.nbytes), 0)
    with bracket() as failure:
        mgpu("MemHostRegister", where, ctypes.c_uint64(array.nbytes))
        mgpu("MemHostUnregister", where)
    assert failure.kind == 0
    assert fake.live("registered") == 1
    foreign.cuMemHostUnregister(where)


def test_a_strided_memref_is_registered_from_its_first_byte(
    fake: fake_cuda.FakeDriver, mgpu
) -> None:
    array = np.zeros((4, 8), np.float32)[::-1, 2:6]
    memref = descriptor(array, offset=3)
    with bracket() as failure:
        mgpu("MemHostRegisterMemRef", ctypes.c_int64(2), memref, ctypes.c_int64(4))
        assert fake.live("registered") == 1
        mgpu("MemHostUnregister", pointer(array[::-1].ctypes.data))
        assert fake.live("registered") == 0
    assert failure.kind == 0


def test_a_program_may_choose_another_device(fake: fake_cuda.FakeDriver, mgpu) -> None:
    with bracket() as failure:
        first = mgpu("StreamCreate")
        assert fake.current_device() == 0
        mgpu("SetDefaultDevice", 1)
        assert fake.current_device() == 1
        second = mgpu("StreamCreate")
        assert first != second
    assert failure.kind == 0
    assert fake.current_device() == -1


@pytest.mark.parametrize("name", ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"])
def test_a_device_that_cannot_be_chosen_is_recorded(
    name: str, fake: fake_cuda.FakeDriver, mgpu
) -> None:
    with bracket() as failure:
        fake.fail(name)
        mgpu("SetDefaultDevice", 1)
        mgpu("StreamCreate")
    assert failure.call == name.encode()


def test_a_tensor_map_goes_from_the_fastest_dimension(fake: fake_cuda.FakeDriver, mgpu) -> None:
    array = np.zeros((4, 6, 8), np.float16)[:, :5, :]
    memref = descriptor(array, offset=5)
    box = (ctypes.c_int64 * 3)(2, 3, 4)
    float16 = 6
    with bracket() as failure:
        made = mgpu(
            "TensorMapEncodeTiledMemref", ctypes.c_int64(3), memref, float16, 0, 0, 0, 0, box
        )
        words = (ctypes.c_uint64 * 16).from_buffer_copy(ctypes.string_at(made, 128))
    assert failure.kind == 0
    assert words[0] == 3
    assert list(words[1:4]) == [8, 5, 4]
    assert list(words[6:9]) == [4, 3, 2]
    assert list(words[11:13]) == [16, 96]
    assert words[15] == array.ctypes.data


@pytest.mark.parametrize("name", ["cuTensorMapEncodeTiled", "cuMemAlloc", "cuMemcpyAsync"])
def test_a_tensor_map_that_fails_leaves_nothing(
    name: str, fake: fake_cuda.FakeDriver, mgpu
) -> None:
    array = np.zeros((4, 8), np.float16)
    box = (ctypes.c_int64 * 2)(2, 4)
    fake.fail(name)
    with bracket() as failure:
        made = mgpu(
            "TensorMapEncodeTiledMemref", ctypes.c_int64(2), descriptor(array), 6, 0, 0, 0, 0, box
        )
        assert made is None
    assert failure.call == name.encode()


def test_a_tensor_map_of_rank_6_is_refused(fake: fake_cuda.FakeDriver, mgpu) -> None:
    array = np.zeros((1,) * 6, np.float16)
    box = (ctypes.c_int64 * 6)(*[1] * 6)
    with bracket() as failure:
        mgpu("TensorMapEncodeTiledMemref", ctypes.c_int64(6), descriptor(array), 6, 0, 0, 0, 0, box)
    assert b"rank of 1 to 5" in failure.message


def test_a_tensor_map_of_every_other_element_is_refused(fake: fake_cuda.FakeDriver, mgpu) -> None:
    box = (ctypes.c_int64 * 2)(2, 4)
    for step, is_refused in [(1, False), (2, True)]:
        array = np.zeros((4, 256 * step), np.float16)[:, ::step]
        with bracket() as failure:
            mgpu(
                "TensorMapEncodeTiledMemref", ctypes.c_int64(2), descriptor(array), 6, 0, 0, 0, 0,
                box,
            )  # fmt: skip
        assert (b"stride 1 in the last dimension, got 2" in failure.message) == is_refused


def test_brackets_nest(fake: fake_cuda.FakeDriver, mgpu) -> None:
    with bracket() as outer:
        fake.fail("cuStreamCreate")
        with bracket() as inner:
            mgpu("StreamCreate")
        assert inner.call == b"cuStreamCreate"
        assert mgpu("StreamCreate")
    assert outer.kind == 0


def test_the_kinds_of_failures_are_those_of_the_header() -> None:
    header = (SOURCES / "TileRuntime.h").read_text()
    _, _, enum = header.partition("typedef enum TileRuntimeFailureKind {")
    found = re.findall(r"TILE_RUNTIME_(\w+) = (\d+)", enum.partition("}")[0])
    assert {name: int(number) for name, number in found} == dict(FailureKind.__members__)


OUTSIDE = """
import ctypes, os, sys
fake = ctypes.CDLL("libcuda.so.1")
fake.fake_reset()
runtime = ctypes.CDLL(os.environ["RUNTIME"])
runtime.mgpuStreamCreate.restype = ctypes.c_void_p
runtime.mgpuMemAlloc.restype = ctypes.c_void_p
class Failure(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("code", ctypes.c_int32), ("call", ctypes.c_char_p)]
    _fields_ += [("rest", ctypes.c_char * 256)]
def last():
    failure = Failure()
    runtime.tile_runtime_last_error(ctypes.byref(failure))
    return failure.kind, failure.call
def live():
    return fake.fake_live(b"streams"), fake.fake_live(b"memory"), fake.fake_live(b"contexts")
assert runtime.mgpuStreamCreate() and last() == (0, b"")
fake.fake_fail(b"cuMemAlloc", 1, 2)
assert runtime.mgpuMemAlloc(ctypes.c_uint64(8), None, False) is None
# What follows the first failure is skipped until somebody asks.
assert runtime.mgpuStreamCreate() is None
assert live() == (1, 0, 0)
assert last() == (1, b"cuMemAlloc") and last() == (0, b"")
assert runtime.mgpuMemAlloc(ctypes.c_uint64(8), None, False)
runtime.mgpuSetDefaultDevice(5)
assert runtime.mgpuStreamCreate() is None and last() == (3, b"cuDeviceGet")
runtime.mgpuSetDefaultDevice(1)
assert runtime.mgpuStreamCreate() and live() == (2, 1, 0)
"""


def test_outside_brackets_the_first_error_is_kept_until_asked_for(
    fake_driver_library: Path, tmp_path: Path
) -> None:
    (tmp_path / "libcuda.so.1").symlink_to(fake_driver_library)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(tmp_path),
        "RUNTIME": str(runtime_library()),
    }
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_outside_brackets_no_driver_is_an_error_too(mgpu) -> None:
    if devices.device_info().usable:
        pytest.skip("there is a GPU")
    assert mgpu("StreamCreate") is None
    failure = Failure()
    assert (
        library().tile_runtime_last_error(ctypes.byref(failure)) == FailureKind.DEVICE_UNAVAILABLE
    )
    assert failure.message
    assert library().tile_runtime_last_error(ctypes.byref(failure)) == 0
