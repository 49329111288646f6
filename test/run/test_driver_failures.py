# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every driver call that fails, fails the host call, by name, and leaks nothing."""

from __future__ import annotations

import gc
import re
from collections import Counter
from pathlib import Path

import fake_cuda
import host_programs
import numpy as np
import pytest

from mlir_tile.errors import DeviceUnavailable, Error, KernelTimeout, LaunchError
from mlir_tile.runtime.executable import Executable

DEFINITIONS = Path(__file__).parents[2] / "lib" / "Runtime" / "DriverFunctions.def"
FUNCTIONS = re.findall(r"^TILE_DRIVER_FUNCTION\((cu\w+),", DEFINITIONS.read_text(), re.MULTILINE)

# Their failure is not one of the host call: they describe an error, or tell contexts apart.
HARMLESS = {"cuGetErrorName", "cuGetErrorString", "cuCtxGetId", "cuCtxPopCurrent"}
# Needed only after another failure, or by other programs than EVERYTHING; tested below.
ELSEWHERE = {
    "cuCtxGetDevice",
    "cuCtxSetCurrent",
    "cuFuncSetAttribute",
    "cuModuleUnload",
    "cuOccupancyMaxPotentialClusterSize",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuTensorMapEncodeTiled",
    "cuPointerGetAttribute",
    "cuThreadExchangeStreamCaptureMode",
}
ONLY_WITHOUT_POOLS = {"cuMemAlloc"}
ONLY_WITH_TIMEOUT = {"cuStreamQuery"}
MEMORY_POOLS_SUPPORTED = 115


@pytest.fixture(scope="module")
def everything() -> str:
    return host_programs.EVERYTHING


def invoke(executable: Executable, timeout: float | None = None) -> None:
    arrays = np.zeros(64, np.float32), np.zeros(64, np.float16)
    executable.invoke("main", *arrays, 2.0, device="cuda", timeout=timeout)


def calls_of_a_run(fake: fake_cuda.FakeDriver, text: str, timeout: float | None) -> Counter[str]:
    executable = host_programs.compile_text(text)
    fake.clear_log()
    invoke(executable, timeout)
    return Counter(fake.log())


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in HARMLESS | ELSEWHERE])
def test_each_call_that_fails_raises_by_name_and_leaks_nothing(
    name: str, everything: str, make_fake
) -> None:
    timeout = 600.0 if name in ONLY_WITH_TIMEOUT else None

    def fresh() -> fake_cuda.FakeDriver:
        fake = make_fake()
        if name in ONLY_WITHOUT_POOLS:
            fake.set_device_attribute(MEMORY_POOLS_SUPPORTED, 0)
        return fake

    count = calls_of_a_run(fresh(), everything, timeout)[name]
    assert count, f"{name} is not called by the program"
    for nth in range(1, count + 1):
        fake = fresh()
        executable = host_programs.compile_text(everything)
        fake.fail(name, nth, fake_cuda.UNKNOWN)
        with pytest.raises(Error) as caught:
            invoke(executable, timeout)
        assert isinstance(caught.value, LaunchError | DeviceUnavailable)
        assert "CUDA_ERROR_UNKNOWN (the fake driver was told to fail)" in str(caught.value)
        if isinstance(caught.value, LaunchError):
            assert caught.value.call == name
            assert name in str(caught.value)
            assert caught.value.name == "CUDA_ERROR_UNKNOWN"
        assert fake.leaks() == {}
        assert fake.live("contexts") == 0
        # The same program works as soon as the driver does.
        fake.fail(nth=0)
        invoke(executable, timeout)
        assert fake.leaks() == {}
        del executable, caught
        gc.collect()
        assert fake.live("modules") == 0


def test_all_driver_functions_are_covered() -> None:
    assert set(FUNCTIONS) >= HARMLESS | ELSEWHERE


def test_a_failure_skips_the_rest_of_the_host_call(fake: fake_cuda.FakeDriver) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    array = np.arange(64, dtype=np.float32)
    fake.fail("cuLaunchKernelEx")
    fake.clear_log()
    with pytest.raises(LaunchError):
        executable.invoke("main", array, 2.0, device="cuda")
    after = fake.log()[fake.log().index("cuLaunchKernelEx") + 1 :]
    assert "cuMemcpyAsync" not in after
    assert after[-1] == "cuCtxPopCurrent"


def test_nothing_is_printed(fake: fake_cuda.FakeDriver, capfd: pytest.CaptureFixture[str]) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    fake.fail("cuMemcpyAsync")
    with pytest.raises(LaunchError):
        executable.invoke("main", np.zeros(64, np.float32), 2.0, device="cuda")
    assert capfd.readouterr() == ("", "")


def test_a_launch_error_carries_the_launch(fake: fake_cuda.FakeDriver) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    fake.fail("cuLaunchKernelEx", code=fake_cuda.UNKNOWN)
    with pytest.raises(LaunchError) as caught:
        executable.invoke("main", np.zeros(64, np.float32), 2.0, device="cuda")
    launch = caught.value.launch
    assert launch is not None
    assert (launch.kernel, launch.grid, launch.block) == ("fill", (2, 1, 1), (32, 1, 1))
    assert (launch.cluster, launch.shared_bytes) == ((2, 1, 1), 0)
    assert str(caught.value).startswith(
        "kernel 'fill' (grid 2x1x1, block 32x1x1, cluster 2x1x1, 0 bytes of dynamic shared memory) "
    )


def test_a_failed_module_load_quotes_the_compiler(fake: fake_cuda.FakeDriver) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    fake.fail("cuModuleLoadDataEx", code=218)
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_INVALID_PTX.*ptxas: line 7 is wrong$"):
        executable.invoke("main", np.zeros(64, np.float32), 2.0, device="cuda")


def test_ptx_too_new_for_the_driver_names_both_versions(fake: fake_cuda.FakeDriver) -> None:
    program = host_programs.compile_text(host_programs.FILL)
    fake.fail("cuModuleLoadDataEx", code=222)
    with pytest.raises(LaunchError, match="cuModuleLoadDataEx failed with") as raised:
        program.invoke("main", np.zeros(64, np.float32), 1.0, device="cuda")
    assert str(raised.value).endswith(
        "; the driver is of CUDA 12.8 and takes PTX 8.7 at most: compile with"
        " features +ptx87, or install a newer driver"
    )


def test_the_optimization_level_reaches_the_driver(fake: fake_cuda.FakeDriver) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    executable.invoke("main", np.zeros(64, np.float32), 2.0, device="cuda")
    assert fake.jit_level() == 3


def test_an_illegal_address_names_the_kernel_and_loses_the_context(
    fake: fake_cuda.FakeDriver,
) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    array = np.zeros(64, np.float32)
    fake.fail("cuMemcpyAsync", 2, fake_cuda.ILLEGAL_ADDRESS)
    with pytest.raises(LaunchError) as caught:
        executable.invoke("main", array, 2.0, device="cuda")
    text = str(caught.value)
    assert text.startswith("kernel 'fill' (grid 2x1x1")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)" in text
    assert "reported by cuMemcpyAsync; the CUDA context of device 0 is lost" in text
    assert text.endswith('start a new process, or use device="emulator"')
    fake.fail(nth=0)
    fake.clear_log()
    with pytest.raises(LaunchError) as caught:
        executable.invoke("main", array, 2.0, device="cuda")
    text = str(caught.value)
    assert "the CUDA context of device 0 is lost since kernel 'fill'" in text
    assert "start a new process" in text
    assert "cuLaunchKernelEx" not in fake.log()
    # Another device still works.
    executable.invoke("main", array, 2.0, device="cuda:1")


def test_a_context_is_lost_even_if_something_else_failed_first(
    fake: fake_cuda.FakeDriver,
) -> None:
    # The event fails; the wait that follows finds that the kernel before it had failed too.
    executable = host_programs.compile_text(host_programs.EVERYTHING)
    fake.fail("cuEventCreate", 2)
    fake.also_fail_stream_synchronize(fake_cuda.ILLEGAL_ADDRESS)
    with pytest.raises(LaunchError, match="cuEventCreate failed"):
        invoke(executable)
    fake.also_fail_stream_synchronize(0)
    with pytest.raises(LaunchError, match="context of device 0 is lost since kernel 'fill'"):
        invoke(executable)


def test_a_kernel_that_never_ends_times_out_and_nothing_waits_for_it(
    fake: fake_cuda.FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = host_programs.compile_text(host_programs.launch("%c2, %c1, %c1"))
    array = np.zeros(64, np.float32)
    fake.hang()
    fake.clear_log()
    with pytest.raises(KernelTimeout) as caught:
        executable.invoke("main", array, 2.0, device="cuda", timeout=0.05)
    text = str(caught.value)
    assert "kernel 'fill'" in text
    assert "did not end within 0.05 s" in text
    assert 'device="emulator"' in text
    # What might wait for the kernel, without a limit.
    blocking = {"cuStreamSynchronize", "cuMemFree", "cuMemHostUnregister", "cuStreamDestroy"}
    assert not blocking & set(fake.log())
    with pytest.raises(LaunchError, match=r"lost since kernel 'fill'.*did not end within"):
        executable.invoke("main", array, 2.0, device="cuda", timeout=0.05)
    fake.forget()


@pytest.mark.parametrize("has_pools", [True, False])
@pytest.mark.parametrize("text", [host_programs.FILL, host_programs.EVERYTHING])
def test_nothing_that_may_block_is_called_while_a_kernel_hangs(
    text: str, has_pools: bool, fake: fake_cuda.FakeDriver
) -> None:
    fake.set_device_attribute(MEMORY_POOLS_SUPPORTED, int(has_pools))
    executable = host_programs.compile_text(text)
    arrays = [np.zeros(64, np.float32)]
    if text == host_programs.EVERYTHING:
        arrays.append(np.zeros(64, np.float16))
    fake.hang()
    with pytest.raises(KernelTimeout, match="kernel 'fill'"):
        executable.invoke("main", *arrays, 2.0, device="cuda", timeout=0.05)
    log = fake.log()
    after = set(log[log.index("cuLaunchKernelEx") + 1 :])
    may_block = {
        "cuStreamSynchronize",
        "cuMemcpyAsync",
        "cuMemFree",
        "cuMemAlloc",
        "cuModuleUnload",
    }
    assert not may_block & after
    assert log[-1] == "cuCtxPopCurrent"
    fake.forget()


def test_managed_memory_that_cannot_be_had_is_safe_to_touch(fake: fake_cuda.FakeDriver) -> None:
    executable = host_programs.compile_text(host_programs.EVERYTHING)
    fake.fail("cuMemHostRegister")
    with pytest.raises(LaunchError, match="cuMemHostRegister failed"):
        invoke(executable)


def test_a_failing_unload_is_silent(
    fake: fake_cuda.FakeDriver, capfd: pytest.CaptureFixture[str]
) -> None:
    executable = host_programs.compile_text(host_programs.FILL)
    executable.invoke("main", np.zeros(64, np.float32), 2.0, device="cuda")
    fake.fail("cuModuleUnload", code=4)
    del executable
    gc.collect()
    assert "cuModuleUnload" in fake.log()
    assert capfd.readouterr() == ("", "")
