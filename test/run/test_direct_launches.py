# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels launched without host code on what says that it is a device tensor.

Over the fake driver, which keeps the parameters and the stream of a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_cuda
import numpy as np
import pytest
from fake_tensors import (
    CupyArray,
    Dlpack,
    Interface,
    Temporary,
    TorchTensor,
    on_device,
    words,
)
from kernel_programs import kernel

from mlir_tile.errors import DeviceUnavailable, LaunchError
from mlir_tile.runtime import kernel as kernel_module
from mlir_tile.runtime import tensors
from mlir_tile.runtime.library import library


def parameters(array: np.ndarray[Any, Any], offset: int = 0) -> list[int]:
    """Return the parameters of a memref: the definition of its descriptor."""
    aligned = array.ctypes.data - offset * array.itemsize
    strides = [stride // array.itemsize for stride in array.strides]
    return words([array.ctypes.data, aligned, offset, *array.shape, *strides])


FORMS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "interface": Interface,
    "dlpack": Dlpack,
    "dlpack before version 1": lambda a: Dlpack(a, versioned=False),
    "torch": TorchTensor,
    "cupy": CupyArray,
}
VIEWS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "whole": lambda w: w,
    "offset": lambda w: w[2:5, 3:7],
    "transposed": lambda w: w.T,
    "steps": lambda w: w[::3, 1::4],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("form", FORMS)
def test_pointer_shape_and_strides_arrive_once(form, view, program, fake, streams) -> None:
    a = VIEWS[view](on_device(fake, np.zeros((8, 12), np.float32)))
    b = VIEWS[view](on_device(fake, np.zeros((8, 12), np.float32)))
    fake.expect_arguments(15)
    for _ in range(2):  # as something new, and as something known
        kernel("any")[(2, 3), 64, None, 128](FORMS[form](a), FORMS[form](b), 1.0)
        expected = [*parameters(a), *parameters(b), 0x3F800000]
        assert fake.arguments(15) == expected
    launch = fake.last_launch()
    assert (launch["grid"], launch["block_x"], launch["shared_bytes"]) == ((2, 3, 1), 64, 128)
    assert launch["cluster_x"] is None


@pytest.mark.parametrize("form", FORMS)
def test_a_static_offset_is_applied_once(form, program, fake, streams) -> None:
    whole = on_device(fake, np.zeros(20, np.int32))
    a, b = whole[3:11:2], on_device(fake, np.zeros(4, np.int32))
    fake.expect_arguments(10)
    bound = kernel("offset")[1, 4]
    for _ in range(2):
        bound(FORMS[form](a), FORMS[form](b))
        assert fake.arguments(10) == [*parameters(a, 3), *parameters(b)]


def test_the_second_launch_does_nothing_but_launch(program, fake, streams) -> None:
    bound = kernel("offset")[4, 4, 2]
    assert kernel("offset")[4, 4, 2] is bound
    a, b = (TorchTensor(np.zeros(n, np.int32)) for n in (8, 4))
    a.array = a.array[::2]
    a.shape = a.array.shape
    bound(a, b)
    fake.clear_log()
    bound(a, b)
    assert {*fake.log()} == {
        "cuCtxGetCurrent",
        "cuDeviceGet",
        "cuCtxGetId",
        "cuCtxPushCurrent",
        "cuCtxPopCurrent",
        "cuLaunchKernelEx",
    }


@pytest.mark.parametrize("form", [TorchTensor, CupyArray])
def test_whose_a_tensor_is_is_asked_once(
    form: Any, monkeypatch: pytest.MonkeyPatch, program, fake, streams
) -> None:
    asked: list[Any] = []

    def owner_of(value: Any) -> str:
        asked.append(value)
        return tensors.owner_of(value)

    monkeypatch.setattr(kernel_module, "owner_of", owner_of)
    a, b = (form(on_device(fake, np.zeros((4, 8), np.float32))) for _ in range(2))
    launch = kernel("dense")[1, 1]
    for _ in range(3):
        launch(a, b, 0.5)
    assert asked == [a, b]


@pytest.mark.parametrize("extent", [0, 1])
def test_strides_of_nothing_and_of_single_elements_mean_nothing(
    extent: int, program, fake, streams
) -> None:
    a = on_device(fake, np.zeros((8, 12), np.float32))[:extent, ::2][:, :6]
    b = on_device(fake, np.zeros((extent, 6), np.float32))
    if extent:
        a = a[:, :1]
        b = b[:, :1]
    fake.expect_arguments(15)
    kernel("dense")[1, 1](TorchTensor(a), TorchTensor(b), 0.0)
    columns = 1 if extent else 6
    assert fake.arguments(7)[2:] == [0, extent, columns, columns, 1]


# Streams


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_the_default_is_the_current_stream_of_the_tensors_library(
    library: str, program, fake, streams
) -> None:
    a, b = (FORMS[library](np.zeros((1, 1), np.float32)) for _ in range(2))
    bound = kernel("dense")[1, 1]
    for stream in (0x500, 0x600, 0):
        getattr(streams, library)[0] = stream
        bound(a, b, 0.0)
        assert fake.last_stream() == stream


class Protocol:
    def __init__(self, stream: int) -> None:
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream


class TorchStream:
    cuda_stream = 0x700


class CupyStream:
    ptr = 0x700


@pytest.mark.parametrize(
    "stream", [0x700, np.int64(0x700), Protocol(0x700), TorchStream, CupyStream]
)
def test_a_given_stream_is_taken_in_every_form(stream: Any, program, fake, streams) -> None:
    streams.torch[0] = 0x500
    a, b = (TorchTensor(np.zeros((1, 1), np.float32)) for _ in range(2))
    kernel("dense")[1, 1, None, None, stream](a, b, 0.0)
    assert fake.last_stream() == 0x700
    kernel("dense")[1, 1](a, b, 0.0)
    assert fake.last_stream() == 0x500


@pytest.mark.parametrize("stream", ["x", 1.5, object(), -1])
def test_what_is_no_stream_is_refused(stream: Any, program, fake) -> None:
    with pytest.raises((TypeError, ValueError), match="stream must be a CUDA stream"):
        kernel("nothing")[1, 1, None, None, stream]


def test_libraries_whose_streams_differ_are_refused_unless_one_is_given(
    program, fake, streams
) -> None:
    a, b = TorchTensor(np.zeros((1, 1), np.float32)), CupyArray(np.zeros((1, 1), np.float32))
    streams.torch[0] = streams.cupy[0] = 0x500
    kernel("dense")[1, 1](a, b, 0.0)
    assert fake.last_stream() == 0x500
    streams.cupy[0] = 0x600
    fake.clear_log()
    with pytest.raises(ValueError, match="the current streams of the tensors' libraries differ"):
        kernel("dense")[1, 1](a, b, 0.0)
    assert "cuLaunchKernelEx" not in fake.log()
    kernel("dense")[1, 1, None, None, 0x700](a, b, 0.0)
    assert fake.last_stream() == 0x700


def test_the_stream_of_an_interface_is_launched_on_or_waited_for(program, fake) -> None:
    a, b = (on_device(fake, np.zeros((1, 1), np.float32)) for _ in range(2))
    kernel("dense")[1, 1](Interface(a), Interface(b, stream=0x500), 0.0)
    assert fake.last_stream() == 0x500
    assert "cuStreamWaitEvent" not in fake.log()
    kernel("dense")[1, 1](Interface(a, stream=1), Interface(b), 0.0)
    assert fake.last_stream() == 0
    assert "cuStreamWaitEvent" not in fake.log()
    kernel("dense")[1, 1](Interface(a, stream=2), Interface(b), 0.0)
    assert fake.last_stream() == 2
    fake.clear_log()
    kernel("dense")[1, 1, None, None, 0x700](Interface(a), Interface(b, stream=0x500), 0.0)
    assert fake.last_stream() == 0x700
    log = fake.log()
    assert log.index("cuEventRecord") < log.index("cuStreamWaitEvent")
    assert log.index("cuStreamWaitEvent") < log.index("cuLaunchKernelEx")
    with pytest.raises(ValueError, match="argument 0 of kernel 'dense' gives stream 0"):
        kernel("dense")[1, 1](Interface(a, stream=0), Interface(b), 0.0)


def test_dlpack_is_told_the_stream(program, fake, streams) -> None:
    a, b = (Dlpack(np.zeros((1, 1), np.float32)) for _ in range(2))
    kernel("dense")[1, 1](a, b, 0.0)
    kernel("dense")[1, 1, None, None, 0x700](a, b, 0.0)
    streams.torch[0] = 0x500
    kernel("dense")[1, 1](a, TorchTensor(np.zeros((1, 1), np.float32)), 0.0)
    assert a.streams == [1, 0x700, 0x500]
    assert fake.last_stream() == 0x500


# Devices


def test_exported_memory_lives_until_the_kernel_is_launched(
    program, fake, streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (Temporary(np.zeros((1, 1), np.float32)) for _ in range(2))
    bound = kernel("dense")[1, 1]
    run, seen = library().tile_runtime_launch, []

    def launch(*arguments: Any) -> Any:
        seen.append((a.is_alive(), b.is_alive()))
        return run(*arguments)

    monkeypatch.setattr(library(), "tile_runtime_launch", launch)
    bound(a, b, 0.0)
    assert seen == [(True, True)]
    assert (a.is_alive(), b.is_alive()) == (False, False)


@pytest.mark.parametrize("form", ["torch", "cupy", "interface", "dlpack"])
def test_the_tensors_device_decides(form: str, program, fake, streams) -> None:
    array = on_device(fake, np.zeros((1, 1), np.float32), 1)
    made = {
        "torch": lambda: TorchTensor(array, 1),
        "cupy": lambda: CupyArray(array, 1),
        "interface": lambda: Interface(array),
        "dlpack": lambda: Dlpack(array, 1),
    }[form]
    fake.push_context(0)
    streams.torch[1] = streams.cupy[1] = 0x900
    for _ in range(2):
        kernel("dense")[1, 1](made(), made(), 0.0)
        assert fake.last_device() == 1
        assert fake.last_stream() == (0x900 if form in ("torch", "cupy") else 0)
        kernel("dense", "cuda:1")[1, 1](made(), made(), 0.0)
        with pytest.raises(ValueError, match='must be on GPU 0, as device="cuda:0" says, got a'):
            kernel("dense", "cuda:0")[1, 1](made(), made(), 0.0)
    assert fake.current_device() == 0
    fake.pop_context()


def test_devices_are_not_mixed(program, fake, streams) -> None:
    a, b = (TorchTensor(np.zeros((1, 1), np.float32), device) for device in (0, 1))
    streams.torch[1] = 0x900
    with pytest.raises(ValueError) as caught:
        kernel("dense")[1, 1](a, b, 0.0)
    assert str(caught.value) == (
        "argument 1 of kernel 'dense' must be on GPU 0, as argument 0 is, got a tensor on GPU 1"
    )


def test_device_tensors_need_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlir_tile.runtime import kernel as kernels
    from mlir_tile.runtime.devices import DeviceInfo

    def none() -> int:
        raise DeviceUnavailable("no CUDA driver: none")

    monkeypatch.setattr(kernels, "device_info", lambda: DeviceInfo("", (), "none"))
    monkeypatch.setattr(kernels, "cuda_driver", none)
    a = Interface(np.zeros((1, 1), np.float32))
    with pytest.raises(DeviceUnavailable):
        kernel("dense")[1, 1](a, a, 0.0)


LAUNCHES: list[tuple[str, Any, type[Exception], str]] = [
    ("grid", (3, 1, 2), LaunchError, "grid 3x1x1 is not divisible by cluster 2x1x1"),
    ("no grid", (0, 1), LaunchError, "grid dimension x must be between 1 and 2147483647, got 0"),
    ("block", (4, 2), LaunchError, "compiled for a block of 1x1x1 (known_block_size), got 2x1x1"),
    ("cluster", (17, 1, 17), LaunchError, "a cluster of 17 CTAs does not fit device 0"),
    ("empty cluster", (4, 1, 0), LaunchError, "a cluster must have at least one CTA"),
    ("smem", (4, 1, None, 300000), LaunchError, "it asks for 300000 bytes of dynamic shared"),
    ("negative smem", (4, 1, None, -1), LaunchError, "smem must not be negative, got -1"),
    ("dimensions", ((1, 1, 1, 1), 1), ValueError, "grid must have one to three dimensions"),
    ("kind", ("x", 1), TypeError, "grid must be an int or a tuple of up to three, got 'x'"),
    ("half", (1.5, 1), TypeError, "grid must be an int or a tuple of up to three, got 1.5"),
    ("size", (1 << 40, 1), ValueError, "grid must fit 32 bits"),
    ("many", (1, 1, 1, 1, 1, 1), TypeError, "a launch is kernel[grid, block, cluster, smem, str"),
    ("none", (None, 1), TypeError, "kernel 'ranks' must be launched with a grid"),
]


@pytest.mark.parametrize(
    ("launch", "kind", "text"), [w[1:] for w in LAUNCHES], ids=[w[0] for w in LAUNCHES]
)
def test_wrong_launches_are_refused_in_the_runtimes_words(
    launch: Any, kind: type[Exception], text: str, program, fake, streams
) -> None:
    out = TorchTensor(np.zeros(4, np.int32))
    kernel("ranks")[4, 1, 2](out)
    fake.clear_log()
    with pytest.raises(kind) as caught:
        kernel("ranks")[launch](out)
    assert text in str(caught.value)
    assert "cuLaunchKernelEx" not in fake.log()
    if isinstance(caught.value, LaunchError):
        assert caught.value.call == "cuLaunchKernelEx"
        assert caught.value.launch is not None and caught.value.launch.kernel == "ranks"


def test_a_block_is_asked_for_where_none_is_known(program, fake) -> None:
    with pytest.raises(TypeError, match="kernel 'nothing' has no known_block_size"):
        kernel("nothing")[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("swizzled", "argument 0 has type memref<8x64xf16, #tile.layout<"),
        ("unranked", "argument 0 has type memref<*xf32>"),
        ("vector", "argument 0 has type vector<4xf32>"),
    ],
)
def test_kernels_whose_arguments_python_cannot_pass_say_so(name: str, text: str, program) -> None:
    with pytest.raises(TypeError) as caught:
        kernel(name)
    assert f"kernel '{name}' cannot be launched from Python: {text}" in str(caught.value)


def test_an_unknown_kernel_lists_the_known_ones(program) -> None:
    for module, name in (("kernels", "other"), ("others", "any")):
        with pytest.raises(ValueError, match=rf"no kernel '{module}.{name}', have: kernels.any, "):
            program.kernel(module, name)


# Loading and failures


def test_load_loads_and_may_do_so_while_a_stream_is_captured(
    program, fake: fake_cuda.FakeDriver
) -> None:
    made = kernel("nothing")
    made.load()
    assert fake.log().count("cuModuleLoadDataEx") == 1
    assert fake.capture_modes() == (0, 2)  # global again, and relaxed while it was loaded
    fake.clear_log()
    made[1, 1]()
    assert "cuModuleLoadDataEx" not in fake.log()


def test_driver_errors_raise_and_say_what_a_capture_does_not_allow(
    program, fake: fake_cuda.FakeDriver
) -> None:
    fake.fail("cuLaunchKernelEx", code=fake_cuda.UNKNOWN)
    with pytest.raises(LaunchError, match="cuLaunchKernelEx returned CUDA_ERROR_UNKNOWN") as caught:
        kernel("nothing")[1, 1]()
    assert caught.value.name == "CUDA_ERROR_UNKNOWN"
    fake.fail("cuLaunchKernelEx", code=900)
    with pytest.raises(LaunchError, match="while a stream is being captured; launch once"):
        kernel("nothing")[1, 1]()
    kernel("nothing")[1, 1]()


def test_an_earlier_kernels_fault_is_not_blamed_on_this_launch(
    program, fake: fake_cuda.FakeDriver
) -> None:
    fake.fail("cuLaunchKernelEx", code=fake_cuda.ILLEGAL_ADDRESS)
    with pytest.raises(LaunchError, match="which an earlier kernel of this process caused"):
        kernel("nothing")[1, 1]()


def test_a_host_function_refuses_device_tensors_with_the_fix(program, fake, streams) -> None:
    import host_programs

    host = host_programs.compile_text(host_programs.FILL)
    for tensor in (Interface(np.zeros(4, np.float32)), Dlpack(np.zeros(4, np.float32))):
        with pytest.raises(TypeError, match=r"argument 0 of 'main' must be in host.*exe\.kernel"):
            host.invoke("main", tensor, 1.0, device="cuda")
