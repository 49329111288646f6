# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers, workgroup buffers and dynamic memory of one kernel never lie over each other."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from shared_memory_programs import Buffer, Kernel, program

import mlir_tile as mt
from mlir_tile.runtime.devices import device_info
from mlir_tile.runtime.executable import Executable

KIB = 1024
BARRIER_BYTES = 16
"""A barrier has 8 bytes; its alignment makes 16 of it wherever something lies behind it."""

_info = device_info()
DEVICES = [
    "emulator",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(
            not _info.usable, reason=f"no usable GPU: {_info.reason or 'none found'}"
        ),
    ),
]
pytestmark = pytest.mark.parametrize("device", DEVICES)


def compiled(text: str, opt_level: int = 3) -> Executable:
    with mt.context():
        return mt.compile(mt.parse(text), opt_level=opt_level)


def static_sizes(ptx: str) -> list[int]:
    """Return the bytes of each static shared array of a PTX text, sorted."""
    found = re.findall(r"^\s*\.shared \.align \d+ \.b8 \w+\[(\d+)\]", ptx, re.MULTILINE)
    return sorted(int(size) for size in found)


def check(executable: Executable, kernels: Sequence[Kernel], device: str, blocks: int = 1) -> None:
    """Run, and compare each byte of each region."""
    outputs = [np.zeros(blocks * kernel.elements, np.int8) for kernel in kernels]
    executable.invoke("main", *outputs, device=device, timeout=600)
    for kernel, output in zip(kernels, outputs, strict=True):
        np.testing.assert_array_equal(output, kernel.expected(blocks), kernel.name)


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize(
    ("total", "moves"),
    [(48 * KIB - 1, False), (48 * KIB, False), (48 * KIB + 1, True)],
)
def test_static_buffers_move_once_they_exceed_48_kib(
    device: str, total: int, moves: bool, opt_level: int
) -> None:
    buffer = Buffer(total - BARRIER_BYTES)
    kernel = Kernel("fill", [buffer], dynamic_bytes=1000)
    executable = compiled(program(kernel), opt_level)
    ptx = executable.ptx["kernels"]
    assert static_sizes(ptx) == [8] + ([] if moves else [buffer.columns])
    assert re.search(r"\.extern \.shared \.align 128 \.b8 \w+\[\];", ptx)
    check(executable, [kernel], device)


@pytest.mark.parametrize("opt_level", [0, 3])
def test_all_of_227_kib_can_be_used(device: str, opt_level: int) -> None:
    # The barrier takes a line, because dynamic memory begins at a multiple of 128.
    buffers = [Buffer(100 * KIB), Buffer(60 * KIB), Buffer(128)]
    rest = 227 * KIB - 128 - sum(buffer.columns for buffer in buffers)
    kernel = Kernel("fill", buffers, dynamic_bytes=rest)
    check(compiled(program(kernel), opt_level), [kernel], device)


def test_a_strided_buffer_has_the_bytes_that_it_spans(device: str) -> None:
    buffers = [Buffer(64, rows=8, pitch=128), Buffer(64, rows=8, pitch=96), Buffer(512)]
    kernel = Kernel("fill", buffers, dynamic_bytes=256)
    executable = compiled(program(kernel))
    assert static_sizes(executable.ptx["kernels"]) == [8, 512, 7 * 96 + 64, 7 * 128 + 64]
    check(executable, [kernel], device)


def test_a_strided_buffer_keeps_its_span_when_it_moves(device: str) -> None:
    buffers = [Buffer(64, rows=300, pitch=192), Buffer(512)]
    kernel = Kernel("fill", buffers, dynamic_bytes=256)
    check(compiled(program(kernel)), [kernel], device)


def test_each_kernel_of_a_module_has_a_front_of_its_own(device: str) -> None:
    kernels = [
        Kernel("small", [Buffer(1024)], dynamic_bytes=512),
        Kernel("large", [Buffer(40 * KIB, alignment=256), Buffer(20 * KIB)], dynamic_bytes=512),
        Kernel("static", [Buffer(50 * KIB, alignment=1024)]),
    ]
    executable = compiled(program(*kernels))
    assert static_sizes(executable.ptx["kernels"]) == [8, 8, 8, 1024, 20 * KIB]
    check(executable, kernels, device)


def test_the_ctas_of_a_cluster_do_not_disturb_each_other(device: str) -> None:
    kernel = Kernel("fill", [Buffer(30 * KIB), Buffer(20 * KIB)], dynamic_bytes=700)
    check(compiled(program(kernel, blocks=4, cluster=2)), [kernel], device, blocks=4)


SIZE_PROGRAM = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @size(%out: memref<1xi64>)
        workgroup(%a: memref<50000xi8, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i8
      %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %bytes = memref.dim %dynamic, %c0 : memref<?xi8, #gpu.address_space<workgroup>>
      memref.store %zero, %a[%c0] : memref<50000xi8, #gpu.address_space<workgroup>>
      %value = arith.index_cast %bytes : index to i64
      memref.store %value, %out[%c0] : memref<1xi64>
      gpu.return
    }
  }
  func.func @main(%out: memref<1xi64>, %bytes: i32) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %start = gpu.wait async
    %d, %t0 = gpu.alloc async [%start] () : memref<1xi64>
    %t1 = gpu.launch_func async [%t0] @kernels::@size
        blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%d : memref<1xi64>)
    %t2 = gpu.memcpy async [%t1] %out, %d : memref<1xi64>, memref<1xi64>
    %t3 = gpu.dealloc async [%t2] %d : memref<1xi64>
    gpu.wait [%t3]
    return
  }
}
"""


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("given", [0, 1, 4096])
def test_the_size_of_dynamic_memory_is_what_the_launch_gave(
    device: str, given: int, opt_level: int
) -> None:
    out = np.full(1, -1, np.int64)
    compiled(SIZE_PROGRAM, opt_level).invoke("main", out, given, device=device)
    assert out[0] == given
