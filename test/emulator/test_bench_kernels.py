# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copy kernels written by hand in CUDA C++, as nvcc prints them, run right and are not reported."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_device import CudaDevice

import tile_emulator as te

FOLDER = Path(__file__).parent / "ptx"
TRANSPOSED_BYTES = 64 * 16 * 2


@dataclass(frozen=True)
class Method:
    """One way to copy: tiles of `tile_bytes`, in chunks that lie apart on both sides."""

    file: str
    kernel: str
    tile_bytes: int = 512
    chunk_bytes: int = 64
    warps: int = 2


METHODS = [
    Method("bulk", "bulk_one_thread"),
    Method("bulk", "bulk_elected"),
    Method("bulk", "bulk_elected_cluster_scope", tile_bytes=48, chunk_bytes=48, warps=1),
    Method("bulk", "bulk_32_lanes", chunk_bytes=16),
    Method("bulk", "bulk_each_warp"),
    Method("stores", "st_async_16"),
    Method("stores", "st_async_8"),
    Method("stores", "st_async_4"),
    Method("stores", "st_remote"),
    Method("stores", "st_remote_cluster_scope", chunk_bytes=512),
    Method("stores", "pull"),
    Method("stores", "pull_cluster_scope", chunk_bytes=16),
    *(
        Method("transpose", f"transpose_{name}", TRANSPOSED_BYTES, TRANSPOSED_BYTES)
        for name in ("st_async", "st_async_pairs", "st_remote", "local_bulk", "pull", "bulk_local")
    ),
]


DEMONSTRATIONS = [("demo_lean", 1), ("demo_128_threads", 128), ("demo_rolled", 128)]


def text(file: str) -> str:
    """Return the PTX of a file."""
    return (FOLDER / f"{file}.ptx").read_text(encoding="utf-8")


@cache
def module(file: str) -> te.Module:
    """Parse each file once."""
    return te.parse(text(file))


def check_method(device: Any, program: Any, method: Method) -> None:
    """Run two rounds of a method on a device; the kernel counts what it saw and what was wrong."""
    cluster, rounds = 2, 2
    chunks = method.tile_bytes // method.chunk_bytes
    src_step, dst_step = method.chunk_bytes + 16, method.chunk_bytes + 32
    src_bytes, dst_bytes = chunks * src_step, chunks * dst_step
    wrong, seen = device.alloc(4), device.alloc(4)
    device.write(wrong, bytes(4))
    device.write(seen, bytes(4))
    arguments = struct.pack(
        "<9i4x2Q", method.tile_bytes, method.chunk_bytes, src_step, dst_step, src_bytes, dst_bytes,
        rounds, 1, method.warps, wrong, seen,
    )  # fmt: skip
    device.launch(
        program,
        method.kernel,
        grid=cluster,
        block=32 * (method.warps + 1),
        cluster=cluster,
        smem=src_bytes + dst_bytes + TRANSPOSED_BYTES + 16,
        args=[arguments],
    )
    elements = cluster * rounds * method.tile_bytes // 2
    assert np.frombuffer(device.read(wrong, 4), np.uint32)[0] == 0
    assert np.frombuffer(device.read(seen, 4), np.uint32)[0] == elements


def check_demonstration(device: Any, program: Any, kernel: str, threads: int) -> None:
    """Copy a tile through the shared memories of two CTAs."""
    nbytes = 16384
    data = np.random.default_rng(1).bytes(nbytes)
    source, target = device.alloc(nbytes), device.alloc(nbytes)
    device.write(source, data)
    device.launch(
        program,
        kernel,
        grid=2,
        block=threads,
        cluster=2,
        smem=2 * nbytes + 128,
        args=[source.to_bytes(8, "little"), target.to_bytes(8, "little")],
    )
    assert device.read(target, nbytes) == data


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.kernel)
def test_each_method_copies_fresh_data_in_every_round(method: Method, schedule: str) -> None:
    device = te.Device(schedule=schedule, max_steps=2_000_000, max_seconds=600)
    check_method(device, module(method.file), method)


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
@pytest.mark.parametrize(("kernel", "threads"), DEMONSTRATIONS)
def test_the_demonstration_by_hand_copies_a_tile(kernel: str, threads: int, schedule: str) -> None:
    check_demonstration(te.Device(schedule=schedule), module("demo"), kernel, threads)


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.kernel)
def test_each_method_does_the_same_on_a_gpu(method: Method) -> None:
    with CudaDevice() as device:
        check_method(device, text(method.file), method)


@pytest.mark.gpu
@pytest.mark.parametrize(("kernel", "threads"), DEMONSTRATIONS)
def test_the_demonstration_does_the_same_on_a_gpu(kernel: str, threads: int) -> None:
    with CudaDevice() as device:
        check_demonstration(device, text("demo"), kernel, threads)


def test_every_kernel_of_the_folder_is_run() -> None:
    kernels = {name for path in FOLDER.glob("*.ptx") for name in module(path.stem).kernels}
    assert kernels == {m.kernel for m in METHODS} | {name for name, _ in DEMONSTRATIONS}
