# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches are checked before the driver sees them; each refusal beside a launch that passes."""

from __future__ import annotations

import fake_cuda
import host_programs
import numpy as np
import pytest

from mlir_tile.errors import LaunchError

SHARED_SIZE_BYTES = 1
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
CLUSTER_SIZE_MUST_BE_SET = 10
REQUIRED_CLUSTER_WIDTH = 11
NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
LIMIT = 227 * 1024


def run(text: str) -> None:
    host_programs.compile_text(text).invoke("main", np.zeros(64, np.float32), 1.0, device="cuda")


def refusal(text: str) -> str:
    with pytest.raises(LaunchError) as caught:
        run(text)
    return str(caught.value)


def cluster(ctas: int, **launch: int) -> str:
    return host_programs.launch(f"%c{ctas}, %c1, %c1", **{"grid": ctas, **launch})


@pytest.mark.parametrize("ctas", [2, 4, 8])
def test_portable_clusters_need_no_opt_in(ctas: int, fake: fake_cuda.FakeDriver) -> None:
    run(cluster(ctas))
    assert fake.last_launch()["cluster_x"] == ctas
    assert fake.function_setting(NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == -1


@pytest.mark.parametrize("ctas", [9, 16])
def test_larger_clusters_opt_in_and_ask_first(ctas: int, fake: fake_cuda.FakeDriver) -> None:
    run(cluster(ctas))
    assert fake.function_setting(NON_PORTABLE_CLUSTER_SIZE_ALLOWED) == 1
    log = fake.log()
    assert log.index("cuOccupancyMaxActiveClusters") < log.index("cuLaunchKernelEx")


def test_the_same_cluster_is_asked_about_once(fake: fake_cuda.FakeDriver) -> None:
    program = host_programs.compile_text(cluster(2))
    for _ in range(3):
        program.invoke("main", np.zeros(64, np.float32), 1.0, device="cuda")
    assert fake.log().count("cuOccupancyMaxActiveClusters") == 1
    assert fake.log().count("cuLaunchKernelEx") == 3


def test_a_cluster_of_17_names_the_limit(fake: fake_cuda.FakeDriver) -> None:
    assert (
        "a cluster of 17 CTAs does not fit device 0, the largest for this kernel, block and shared "
        "memory is 16"
    ) in refusal(cluster(17))
    assert "cuLaunchKernelEx" not in fake.log()


def test_a_cluster_that_the_device_has_no_room_for_names_the_limit(
    fake: fake_cuda.FakeDriver,
) -> None:
    fake.set_largest_cluster(8)
    assert "16 CTAs does not fit device 0" in refusal(cluster(16))
    run(cluster(8))


def test_the_limit_is_left_out_where_the_driver_does_not_say(fake: fake_cuda.FakeDriver) -> None:
    fake.fail("cuOccupancyMaxPotentialClusterSize")
    assert refusal(cluster(17)).endswith("a cluster of 17 CTAs does not fit device 0")


def test_a_failing_occupancy_query_is_an_error(fake: fake_cuda.FakeDriver) -> None:
    fake.fail("cuOccupancyMaxActiveClusters", code=fake_cuda.UNKNOWN)
    assert "cuOccupancyMaxActiveClusters returned CUDA_ERROR_UNKNOWN" in refusal(cluster(2))


def test_a_failing_opt_in_is_an_error(fake: fake_cuda.FakeDriver) -> None:
    fake.fail("cuFuncSetAttribute", code=fake_cuda.UNKNOWN)
    assert "cuFuncSetAttribute returned CUDA_ERROR_UNKNOWN" in refusal(cluster(16))


def test_the_grid_must_be_divisible_by_the_cluster(fake: fake_cuda.FakeDriver) -> None:
    assert "grid 3x1x1 is not divisible by cluster 2x1x1" in refusal(cluster(2, grid=3))
    run(cluster(2, grid=4))


def test_the_grid_must_not_be_empty(fake: fake_cuda.FakeDriver) -> None:
    text = host_programs.launch(grid=0)
    assert "grid dimension x must be between 1 and 2147483647, got 0" in refusal(text)
    run(host_programs.launch(grid=1))


def test_the_block_must_fit_the_kernel(fake: fake_cuda.FakeDriver) -> None:
    fake.set_function_attribute(0, 64)
    assert "must have between 1 and 64 threads" in refusal(host_programs.launch(block=65))
    run(host_programs.launch(block=64))


def test_the_cluster_must_agree_with_the_kernel(fake: fake_cuda.FakeDriver) -> None:
    for i, extent in enumerate((4, 1, 1)):
        fake.set_function_attribute(REQUIRED_CLUSTER_WIDTH + i, extent)
    assert (
        "the kernel was compiled for a cluster of 4x1x1 (.reqnctapercluster), got 2x1x1"
    ) in refusal(cluster(2))
    run(cluster(4))


def test_a_launch_without_cluster_takes_the_kernels_own(fake: fake_cuda.FakeDriver) -> None:
    for i, extent in enumerate((4, 1, 1)):
        fake.set_function_attribute(REQUIRED_CLUSTER_WIDTH + i, extent)
    assert "grid 2x1x1 is not divisible by cluster 4x1x1" in refusal(host_programs.launch(grid=2))
    run(host_programs.launch(grid=4))
    assert fake.last_launch()["cluster_x"] == 4


def test_a_kernel_that_needs_a_cluster_is_not_launched_without(fake: fake_cuda.FakeDriver) -> None:
    fake.set_function_attribute(CLUSTER_SIZE_MUST_BE_SET, 1)
    assert "must be launched with a cluster" in refusal(host_programs.launch(grid=2))
    run(cluster(2))


def test_48_kib_of_shared_memory_need_no_opt_in(fake: fake_cuda.FakeDriver) -> None:
    run(host_programs.launch(shared_bytes=48 * 1024))
    assert fake.function_setting(MAX_DYNAMIC_SHARED_SIZE_BYTES) == -1


@pytest.mark.parametrize("shared_bytes", [48 * 1024 + 1, LIMIT])
def test_more_shared_memory_opts_in(shared_bytes: int, fake: fake_cuda.FakeDriver) -> None:
    run(host_programs.launch(shared_bytes=shared_bytes))
    assert fake.function_setting(MAX_DYNAMIC_SHARED_SIZE_BYTES) == shared_bytes
    assert fake.last_launch()["shared_bytes"] == shared_bytes


def test_too_much_shared_memory_says_both_numbers(fake: fake_cuda.FakeDriver) -> None:
    assert (
        f"it asks for {LIMIT + 1} bytes of dynamic shared memory, device 0 allows {LIMIT}"
    ) in refusal(host_programs.launch(shared_bytes=LIMIT + 1))


def test_static_shared_memory_counts(fake: fake_cuda.FakeDriver) -> None:
    fake.set_function_attribute(SHARED_SIZE_BYTES, 1024)
    assert f"device 0 allows {LIMIT - 1024} beside 1024 static bytes" in refusal(
        host_programs.launch(shared_bytes=LIMIT - 1023)
    )
    run(host_programs.launch(shared_bytes=LIMIT - 1024))
