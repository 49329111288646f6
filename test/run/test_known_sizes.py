# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel runs only with the grid and the block that it was compiled for, from wherever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.runtime.executable import Executable

PROGRAM = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @count(%a: memref<8xi32>) kernel
        attributes {known_grid_size = array<i32: 4, 1, 1>,
                    known_block_size = array<i32: 32, 1, 1>} {
      %x = gpu.block_id x
      %one = arith.constant 1 : i32
      memref.store %one, %a[%x] : memref<8xi32>
      gpu.return
    }
    gpu.func @any(%a: memref<8xi32>) kernel {
      gpu.return
    }
  }
  func.func @main(%a: memref<8xi32>, %grid: index, %block: index)
      attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    gpu.host_register %unranked : memref<*xi32>
    gpu.launch_func @kernels::@count blocks in (%grid, %c1, %c1) threads in (%block, %c1, %c1)
        args(%a : memref<8xi32>)
    gpu.launch_func @kernels::@any blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%a : memref<8xi32>)
    return
  }
}
""".replace(
    "    gpu.host_register",
    "    %unranked = memref.cast %a : memref<8xi32> to memref<*xi32>\n    gpu.host_register",
)


@pytest.fixture(scope="module")
def program() -> Executable:
    with mt.context():
        return mt.compile(mt.parse(PROGRAM))


def written(ctas: int) -> list[int]:
    return [1] * ctas + [0] * (8 - ctas)


def test_host_launches(program: Executable, tmp_path: Path) -> None:
    program.save(tmp_path / "program.tile")
    for each in (program, mt.load(tmp_path / "program.tile")):
        a = np.zeros(8, np.int32)
        each.main(a, 4, 32, device="emulator")
        assert a.tolist() == written(4)
        for grid, block, text in [
            (8, 32, r"a grid of 4x1x1 \(known_grid_size\), got 8x1x1"),
            (2, 32, r"a grid of 4x1x1 \(known_grid_size\), got 2x1x1"),
            (4, 16, r"a block of 32x1x1 \(known_block_size\), got 16x1x1"),
        ]:
            a[:] = 0
            with pytest.raises(mt.LaunchError, match=text):
                each.main(a, grid, block, device="emulator")
            assert not a.any()


def test_direct_launches(program: Executable) -> None:
    kernel = program.kernel("kernels", "count", device="emulator")
    a = np.zeros(8, np.int32)
    kernel[4](a)
    assert a.tolist() == written(4)
    with pytest.raises(mt.LaunchError, match=r"a grid of 4x1x1 \(known_grid_size\), got 8x1x1"):
        kernel[8]
    with pytest.raises(mt.LaunchError, match=r"a block of 32x1x1 \(known_block_size\), got 16"):
        kernel[4, 16]
