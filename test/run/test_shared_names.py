# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator's reports call buffers and barriers what the program calls them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.kernel_signature import shared_names

# Thread 0 waits for a phase that nobody arrives in; nobody writes what is read before that.
KERNEL = """
!ring = memref<2x8xf32, #gpu.address_space<workgroup>>
!big = memref<BIGxf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
gpu.module @kernels {
  gpu.func @k(%out: memref<8xf32>, %i: index, %waits: i1) workgroup(%halos: !ring, %big: !big)
      kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %full = nvgpu.mbarrier.create -> !bars
    %empty = nvgpu.mbarrier.create -> !bars
    nvgpu.mbarrier.init %full[%c1], %c1 : !bars
    nvgpu.mbarrier.init %empty[%c0], %c1 : !bars
    scf.if %waits {
      tile.wait %full[%c1] parity(%false) : !bars
    }
    %given = memref.load %out[%c0] : memref<8xf32>
    memref.store %given, %halos[%c0, %c0] : !ring
    memref.store %given, %big[%c0] : !big
    %x = memref.load %halos[%c1, %i] : !ring
    %y = memref.load %big[%i] : !big
    %z = arith.addf %x, %y : f32
    memref.store %z, %out[%i] : memref<8xf32>
    gpu.return
  }
}
"""


def compiled(text: str) -> Executable:
    with mt.context():
        return mt.compile(mt.parse(text))


def report(exe: Executable, waits: int) -> str:
    with pytest.raises(mt.EmulatorError) as caught:
        exe.kernel("kernels", "k", device="emulator")[1](np.zeros(8, np.float32), 3, waits)
    return str(caught.value)


@pytest.mark.parametrize("big", [64, 20000])
def test_buffers_and_barriers_keep_their_names(big: int) -> None:
    exe = compiled(KERNEL.replace("BIG", str(big)))
    assert "(%halos[1, 3]) is read although nothing has been written there" in report(exe, 0)
    assert "of CTA rank 0 (%full[1]) never ends: 0 of 1 arrivals came" in report(exe, 1)
    wait = KERNEL.splitlines().index("      tile.wait %full[%c1] parity(%false) : !bars") + 1
    assert f"\n  source: -:{wait}\n" in report(exe, 1)
    names = {entry["name"]: entry for entry in shared_names(exe._module.operation)["k"]}
    assert names.keys() == {"%halos", "%big", "%full", "%empty"}
    assert names["%halos"]["extents"] == (2, 8) and names["%halos"]["steps"] == (32, 4)
    # 48 KiB fit into static shared memory; the larger buffer is moved to dynamic memory.
    moved = names["%big"]["symbol"] == "__dynamic_shared_memory"
    assert moved == (big == 20000)
    symbols = {names[name]["symbol"] for name in names}
    assert all(symbol in exe.ptx["kernels"] for symbol in symbols)


def test_names_survive_saving_and_bytecode() -> None:
    with mt.context():
        module = mt.parse(KERNEL.replace("BIG", "64"))
        content = io.BytesIO()
        module.operation.write_bytecode(content)
        again = mt.compile(mt.parse(content.getvalue()))
    assert "(%halos[1, 3])" in report(again, 0)


def test_a_layout_that_is_no_steps_gives_the_byte() -> None:
    text = KERNEL.replace("BIG", "64").replace(
        "memref<2x8xf32, #gpu",
        "memref<2x8xf32, #tile.layout<(2, 8) : (8, 1), swizzle = <1, 2, 1>>, #gpu",
    )
    assert "(%halos, byte " in report(compiled(text), 0)


def test_without_names_a_report_has_the_offset_alone() -> None:
    with mt.context():
        exe = mt.compile(ir.Module.parse(KERNEL.replace("BIG", "64")))
    assert "%halos" not in report(exe, 0) and "shared byte" in report(exe, 0)


def test_a_name_location_of_a_builder_is_a_name() -> None:
    with mt.context():
        module = ir.Module.parse(KERNEL.replace("BIG", "64"))

        def rename(op: ir.Operation) -> ir.WalkResult:
            if op.name == "nvgpu.mbarrier.create":
                op.location = ir.Location.name("arrived", op.location)
            return ir.WalkResult.ADVANCE

        module.operation.walk(rename)
        exe = mt.compile(module)
    assert "(%arrived[1]) never ends" in report(exe, 1)


def test_advice_is_given_in_words_of_ops() -> None:
    from mlir_tile.runtime.driver_emulator import _WORDS
    from tile_emulator import advice

    assert _WORDS.keys() == advice.KEYS
    said = report(compiled(KERNEL.replace("BIG", "64")), 1)
    assert said.endswith(_WORDS["count"]) and "nvgpu.mbarrier.init" in said
