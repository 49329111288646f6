# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults planted in kernels that load tiles, change them and store them, or send them to several.

Each differs in one thing from a kernel about which the emulator says nothing, under any schedule.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.errors import EmulatorError

SCHEDULES = ["eager", "late", "random:3"]
ROUNDS, N = 4, 64

# Each round loads a row, adds one to it in place, and stores it.
PROGRAM = """
#wg = #gpu.address_space<workgroup>
!all = memref<?x64xi32>
!row = memref<1x64xi32, strided<[64, 1], offset: ?>>
!tile = memref<1x64xi32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @k(%x: !all {llvm.align = 16 : i64}, %y: !all {llvm.align = 16 : i64})
      workgroup(%in: !tile, %out: !tile) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %one = arith.constant 1 : i32
    %rounds = memref.dim %x, %c0 : !all
    %t = gpu.thread_id x
    %is_first = arith.cmpi eq, %t, %c0 : index
    %is_second = arith.cmpi eq, %t, %c1 : index
    %is_in_warp = arith.cmpi ult, %t, %c32 : index
    %bars = nvgpu.mbarrier.create -> !bars
    scf.if %is_first {
      nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
      nvvm.fence.mbarrier.init
    }
    gpu.barrier
    scf.for %i = %c0 to %rounds step %c1 {
      %from = memref.subview %x[%i, 0] [1, 64] [1, 1] : !all to !row
      %to = memref.subview %y[%i, 0] [1, 64] [1, 1] : !all to !row
      %odd = arith.remui %i, %c2 : index
      %parity = arith.index_cast %odd : index to i1
      scf.if %is_first {
        tile.expect %bars[%c0] for %in : !bars, !tile
        tile.copy_async %from to %in mbarrier(%bars[%c0]) : !row to !tile, !bars
      }
      tile.wait %bars[%c0] parity(%parity) : !bars
      scf.if %is_first {
        nvvm.cp.async.bulk.wait_group 0 {read}
      }
      gpu.barrier
      %old = memref.load %in[%c0, %t] : !tile
      %new = arith.addi %old, %one : i32
      memref.store %new, %out[%c0, %t] : !tile
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpu.barrier
      scf.if %is_first {
        tile.copy_async %out to %to : !tile to !row
        nvvm.cp.async.bulk.commit.group
      }
    }
    scf.if %is_first {
      nvvm.cp.async.bulk.wait_group 0
      %last = arith.subi %rounds, %c1 : index
      %written = memref.load %y[%last, %c0] : !all
      memref.store %written, %x[%c0, %c0] : !all
    }
    gpu.return
  }
}
func.func @main(%x: !all, %y: !all) attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %x, %c0 : !all
  %t0 = gpu.wait async
  %dx, %t1 = gpu.alloc async [%t0] (%n) : !all
  %dy, %t2 = gpu.alloc async [%t1] (%n) : !all
  %t3 = gpu.memcpy async [%t2] %dx, %x : !all, !all
  %t4 = gpu.launch_func async [%t3] @kernels::@k blocks in (%c1, %c1, %c1)
      threads in (%c64, %c1, %c1) args(%dx : !all, %dy : !all)
  %t5 = gpu.memcpy async [%t4] %y, %dy : !all, !all
  %t6 = gpu.dealloc async [%t5] %dx : !all
  %t7 = gpu.dealloc async [%t6] %dy : !all
  gpu.wait [%t7]
  return
}
}
"""

READ_WAIT = "        nvvm.cp.async.bulk.wait_group 0 {read}\n"
LAST_WAIT = "      nvvm.cp.async.bulk.wait_group 0\n"
FENCE = (
    "      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, "
    "space = #nvvm.shared_space<cta>}\n"
)
COMMIT = "        nvvm.cp.async.bulk.commit.group\n"
EXPECT = "        tile.expect %bars[%c0] for %in : !bars, !tile\n"
WAIT = "      tile.wait %bars[%c0] parity(%parity) : !bars\n"
STORE = "        tile.copy_async %out to %to : !tile to !row\n"
INIT_FENCE = "      nvvm.fence.mbarrier.init\n"
BARRIER = "      gpu.barrier\n"
BYTES = (
    "        %wrong = arith.constant {} : index\n"
    "        nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %wrong : !bars\n"
)

FAULTS: dict[str, tuple[str, str]] = {
    "the source is overwritten before it is read": (READ_WAIT, ""),
    "a group may be left": (READ_WAIT, READ_WAIT.replace("0", "1")),
    "another thread waits for the groups": (
        "scf.if %is_first {\n" + READ_WAIT, "scf.if %is_second {\n" + READ_WAIT
    ),
    "global memory is read before the group is done": (LAST_WAIT, ""),
    "global memory is read after a wait for the sources only": (
        LAST_WAIT, LAST_WAIT.replace("0", "0 {read}")
    ),
    "the copies are in no group": (COMMIT, ""),
    "the group is committed before the copy": (STORE + COMMIT, COMMIT + STORE),
    "what is stored is not fenced": (FENCE, ""),
    "the fence comes before the store": (
        "      memref.store %new, %out[%c0, %t] : !tile\n" + FENCE,
        FENCE + "      memref.store %new, %out[%c0, %t] : !tile\n",
    ),
    "other threads store while the copy reads": (FENCE + BARRIER, FENCE),
    "nobody arms the barrier": (EXPECT, ""),
    "too few bytes are armed": (EXPECT, BYTES.format(128)),
    "too many bytes are armed": (EXPECT, BYTES.format(512)),
    "all threads of the warp arm it": (
        "      scf.if %is_first {\n" + EXPECT,
        "      scf.if %is_in_warp {\n" + EXPECT + "      }\n      scf.if %is_first {\n",
    ),
    "the tile is read before it has come": (WAIT, ""),
    "the wrong phase is waited for": (WAIT, WAIT.replace("%parity", "%other")),
    "nothing initialises the barrier": (
        "      nvgpu.mbarrier.init %bars[%c0], %c1 : !bars\n", ""
    ),
    "the barrier counts one arrival more": ("init %bars[%c0], %c1", "init %bars[%c0], %c2"),
    "others wait for a barrier before they know of it": (
        "    gpu.barrier\n    scf.for", "    scf.for"
    ),
}  # fmt: skip


def planted(fault: tuple[str, str]) -> str:
    before, after = fault
    assert before in PROGRAM
    text = PROGRAM.replace(before, after, 1)
    if "%other" in text:
        flip = "      %true = arith.constant true\n      %other = arith.xori %parity, %true : i1\n"
        text = text.replace(WAIT.replace("%parity", "%other"), flip + after)
    return text


def run(text: str, schedule: str) -> tuple[np.ndarray, np.ndarray]:
    with mt.context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = mt.compile(mt.parse(text))
    x = np.arange(ROUNDS * N, dtype=np.int32).reshape(ROUNDS, N)
    y = np.zeros_like(x)
    program.invoke("main", x, y, device="emulator", schedule=schedule, timeout=30)
    return x, y


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_a_fault_the_emulator_is_silent(schedule: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, y = run(PROGRAM, schedule)
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named(name: str, schedule: str) -> None:
    with pytest.raises(EmulatorError) as caught:
        run(planted(FAULTS[name]), schedule)
    assert caught.value.kind
