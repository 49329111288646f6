# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu.memcpy and gpu.memset write what their memrefs have, and nothing beside it."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.runtime.executable import Executable

# `main` copies `a` to a buffer on the device and back, into `view` of `b`.
PROGRAM = """
func.func @main(%a: {given}, %b: {whole}, %i: index) attributes {{llvm.emit_c_interface}} {{
  %t = gpu.wait async
  {view}
  %d, %t0 = gpu.alloc async [%t] () : {given}
  %t1 = gpu.memcpy async [%t0] %d, %a : {given}, {given}
  %t2 = gpu.memcpy async [%t1] %v, %d : {viewed}, {given}
  %t3 = gpu.dealloc async [%t2] %d : {given}
  gpu.wait [%t3]
  return
}}
"""


def compiled(given: str, whole: str, view: str, viewed: str) -> Executable:
    text = PROGRAM.format(given=given, whole=whole, view=view, viewed=viewed)
    with mt.context():
        return mt.compile(mt.parse(text))


ROW = "memref<4x16xi32> to memref<16xi32, strided<[1], offset: {}>>"


@pytest.mark.parametrize(
    ("view", "offset", "row"),
    [
        (f"memref.subview %b[2, 0] [1, 16] [1, 1] : {ROW.format(32)}", "32", 2),
        (f"memref.subview %b[%i, 0] [1, 16] [1, 1] : {ROW.format('?')}", "?", 3),
    ],
)
def test_a_row_lands_where_it_is(view: str, offset: str, row: int) -> None:
    program = compiled(
        "memref<16xi32>",
        "memref<4x16xi32>",
        f"%v = {view}",
        f"memref<16xi32, strided<[1], offset: {offset}>>",
    )
    a, b = np.arange(1, 17, dtype=np.int32), np.zeros((4, 16), np.int32)
    program.main(a, b, 3, device="emulator")
    expected = np.zeros_like(b)
    expected[row] = a
    assert (b == expected).all()


DYNAMIC = """
func.func @main(%a: memref<?x8xf16>, %b: memref<6x8xf16>, %n: index)
    attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?x8xf16>
  %v = memref.subview %b[1, 0] [%n, 8] [1, 1]
    : memref<6x8xf16> to memref<?x8xf16, strided<[8, 1], offset: 8>>
  %t = gpu.wait async
  %d, %t0 = gpu.alloc async [%t] (%m) : memref<?x8xf16>
  %t1 = gpu.memcpy async [%t0] %d, %a : memref<?x8xf16>, memref<?x8xf16>
  %t2 = gpu.memcpy async [%t1] %v, %d
    : memref<?x8xf16, strided<[8, 1], offset: 8>>, memref<?x8xf16>
  %t3 = gpu.dealloc async [%t2] %d : memref<?x8xf16>
  gpu.wait [%t3]
  return
}
"""


def test_extents_that_only_the_run_time_knows_must_be_the_same() -> None:
    with mt.context():
        program = mt.compile(mt.parse(DYNAMIC))
    a, b = np.ones((3, 8), np.float16), np.zeros((6, 8), np.float16)
    program.main(a, b, 3, device="emulator")
    assert (b[1:4] == 1).all() and not b[0].any() and not b[4:].any()
    b[:] = 0
    text = "same extents on both sides, got 2 to copy to and 3 to copy from in dimension 0"
    with pytest.raises(mt.LaunchError, match=text):
        program.main(a, b, 2, device="emulator")
    assert not b.any()


FILL = """
func.func @main(%b: memref<4x16xi32>) attributes {llvm.emit_c_interface} {
  %seven = arith.constant 7 : i32
  %t = gpu.wait async
  %v = memref.subview %b[1, 0] [2, 16] [1, 1]
    : memref<4x16xi32> to memref<2x16xi32, strided<[16, 1], offset: 16>>
  %t1 = gpu.memset async [%t] %v, %seven : memref<2x16xi32, strided<[16, 1], offset: 16>>, i32
  gpu.wait [%t1]
  return
}
"""


def test_a_fill_keeps_to_its_rows() -> None:
    with mt.context():
        program = mt.compile(mt.parse(FILL))
    b = np.zeros((4, 16), np.int32)
    program.main(b, device="emulator")
    assert (b[1:3] == 7).all() and not b[0].any() and not b[3].any()
