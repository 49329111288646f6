# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which device runs a host call, which context, and what is said when there is none."""

from __future__ import annotations

import threading

import fake_cuda
import host_programs
import numpy as np
import pytest

from mlir_tile.errors import DeviceUnavailable, LaunchError
from mlir_tile.runtime import devices, executable
from mlir_tile.runtime.devices import device_info

MAJOR = 75


def array() -> np.ndarray:
    return np.zeros(64, np.float32)


@pytest.fixture
def program() -> executable.Executable:
    return host_programs.compile_text(host_programs.FILL)


def test_device_info_describes_each_gpu(fake: fake_cuda.FakeDriver) -> None:
    info = device_info()
    assert info.driver_version == "12.8"
    assert [str(device) for device in info.devices] == [
        "GPU 0 (Fake GPU, sm_90)",
        "GPU 1 (Fake GPU, sm_90)",
    ]
    assert info.devices[0].shared_bytes_per_block == 227 * 1024
    assert info.reason == ""


def test_no_driver_is_said(monkeypatch: pytest.MonkeyPatch, program) -> None:
    def none() -> int:
        raise DeviceUnavailable("no CUDA driver: libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(devices, "cuda_driver", none)
    with pytest.raises(DeviceUnavailable, match="no CUDA driver: libcuda"):
        program.invoke("main", array(), 1.0, device="cuda")
    assert devices.resolve_device("auto") is None


def test_a_driver_without_gpu_is_said(fake: fake_cuda.FakeDriver, program) -> None:
    fake.fail("cuInit", code=100)
    with pytest.raises(DeviceUnavailable, match="no GPU: CUDA_ERROR_NO_DEVICE"):
        program.invoke("main", array(), 1.0, device="cuda")
    fake.fail("cuInit", code=100)
    assert devices.resolve_device("auto") is None


def test_a_gpu_that_is_too_old_is_named(fake: fake_cuda.FakeDriver, program) -> None:
    fake.set_device_attribute(MAJOR, 8)
    with pytest.raises(DeviceUnavailable, match=r"GPU 0 \(Fake GPU, sm_80\)"):
        program.invoke("main", array(), 1.0, device="cuda")
    assert devices.resolve_device("auto") is None


def test_a_gpu_that_is_not_there_is_said(fake: fake_cuda.FakeDriver, program) -> None:
    with pytest.raises(DeviceUnavailable, match="no GPU 2: there are 2"):
        program.invoke("main", array(), 1.0, device="cuda:2")
    program.invoke("main", array(), 1.0, device="cuda:1")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:-1", ""])
def test_a_device_name_must_be_known(name: str, program) -> None:
    with pytest.raises(ValueError, match="device must be"):
        program.invoke("main", array(), 1.0, device=name)


def test_auto_takes_the_gpu(fake: fake_cuda.FakeDriver, program) -> None:
    program.invoke("main", array(), 1.0)
    assert "cuLaunchKernelEx" in fake.log()


@pytest.mark.parametrize("current", [0, 1])
def test_the_callers_context_is_used_and_restored(
    current: int, fake: fake_cuda.FakeDriver, program
) -> None:
    fake.push_context(current)
    fake.clear_log()
    program.invoke("main", array(), 1.0, device="cuda")
    assert fake.current_device() == current
    assert "cuDevicePrimaryCtxRetain" not in fake.log()
    # Another device than the current one.
    program.invoke("main", array(), 1.0, device=f"cuda:{1 - current}")
    assert "cuDevicePrimaryCtxRetain" in fake.log()
    assert fake.current_device() == current
    fake.fail("cuLaunchKernelEx")
    with pytest.raises(LaunchError):
        program.invoke("main", array(), 1.0, device="cuda")
    assert fake.current_device() == current
    # A module in a context of the caller's is unloaded by the next call there.
    del program
    fake.fail(nth=0)
    host_programs.compile_text(host_programs.FILL).invoke("main", array(), 1.0, device="cuda")
    fake.pop_context()
    fake.forget()


def test_a_failing_question_for_the_context_is_an_error(
    fake: fake_cuda.FakeDriver, program
) -> None:
    fake.push_context(0)
    fake.fail("cuCtxGetDevice")
    with pytest.raises(LaunchError, match="cuCtxGetDevice failed"):
        program.invoke("main", array(), 1.0, device="cuda")
    fake.pop_context()


def test_modules_are_loaded_once_for_each_context(fake: fake_cuda.FakeDriver, program) -> None:
    for _ in range(3):
        program.invoke("main", array(), 1.0, device="cuda:0")
        program.invoke("main", array(), 1.0, device="cuda:1")
    assert fake.log().count("cuModuleLoadDataEx") == 2
    assert fake.live("modules") == 2


def test_a_given_stream_is_used_and_left_alone(fake: fake_cuda.FakeDriver, program) -> None:
    program.invoke("main", array(), 1.0, device="cuda", stream=0x77)
    log = fake.log()
    assert "cuStreamCreate" not in log
    assert "cuStreamDestroy" not in log


@pytest.mark.parametrize("name", ["cuda_stream", "ptr", "handle", "__cuda_stream__"])
def test_streams_of_other_libraries_are_understood(
    name: str, fake: fake_cuda.FakeDriver, program
) -> None:
    value = (0, 0x77) if name == "__cuda_stream__" else 0x77
    stream = type("Stream", (), {name: value})()
    program.invoke("main", array(), 1.0, device="cuda", stream=stream)
    assert "cuStreamCreate" not in fake.log()


def test_a_stream_must_be_one(fake: fake_cuda.FakeDriver, program) -> None:
    with pytest.raises(TypeError, match="stream must be a CUDA stream or its address, got str"):
        program.invoke("main", array(), 1.0, device="cuda", stream="default")


def test_a_timeout_must_be_positive(fake: fake_cuda.FakeDriver, program) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds, got 0"):
        program.invoke("main", array(), 1.0, device="cuda", timeout=0)
    program.invoke("main", array(), 1.0, device="cuda", timeout=600)


def test_threads_have_calls_of_their_own(fake: fake_cuda.FakeDriver, program) -> None:
    failed, passed = [], []

    def work(ordinal: int) -> None:
        for turn in range(50):
            try:
                # A grid that no kernel can have, in every other call of one thread.
                name = "main" if ordinal or turn % 2 else "nothing"
                program.invoke(name, array(), 1.0, device=f"cuda:{ordinal}")
                passed.append(ordinal)
            except ValueError:
                failed.append(ordinal)

    threads = [threading.Thread(target=work, args=(ordinal,)) for ordinal in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (passed.count(0), passed.count(1), failed.count(0)) == (25, 50, 25)


def test_a_failure_in_one_thread_is_not_one_of_another(fake: fake_cuda.FakeDriver, program) -> None:
    good = host_programs.compile_text(host_programs.launch(grid=1))
    bad = host_programs.compile_text(host_programs.launch("%c2, %c1, %c1", grid=1))
    errors: dict[str, list[Exception]] = {"good": [], "bad": []}

    def work(name: str, chosen: executable.Executable) -> None:
        for _ in range(100):
            try:
                chosen.invoke("main", array(), 1.0, device="cuda")
            except LaunchError as error:
                errors[name].append(error)

    threads = [threading.Thread(target=work, args=item) for item in (("good", good), ("bad", bad))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(errors["good"]), len(errors["bad"])) == (0, 100)
    errors.clear()


def test_ten_thousand_calls_leave_nothing(fake: fake_cuda.FakeDriver, program) -> None:
    for turn in range(10_000):
        program.invoke("main", array(), 1.0, device="cuda")
        if turn % 1000 == 0:
            fake.clear_log()
    assert fake.leaks() == {}
    assert fake.live("modules") == 1
