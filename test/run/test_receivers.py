# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies to one CTA or to several of a cluster, from global and from shared memory, and reductions.

Every CTA begins with a tile of its own number, and writes out what it has at the end.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.errors import EmulatorError

N = 64
DTYPES: dict[str, Any] = {
    "i32": np.int32, "i64": np.int64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip

KERNEL = """
#wg = #gpu.address_space<workgroup>
!all = memref<{rows}x{n}x{element}>
!global = memref<{n}x{element}>
!row = memref<{n}x{element}, strided<[1], offset: ?>>
!tile = memref<{n}x{element}, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @k(%x: !global {{llvm.align = 16 : i64}}, %y: !all {{llvm.align = 16 : i64}},
              %mask: i16, %waits: i16)
      workgroup(%src: !tile, %dst: !tile) kernel
      attributes {{tile.insert_sync, known_block_size = array<i32: 64, 1, 1>,
                  known_cluster_size = array<i32: {cluster}, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %bit = arith.constant 1 : i16
    %none = arith.constant 0 : i16
    %phase = arith.constant false
    %t = gpu.thread_id x
    %rank = gpu.cluster_block_id x
    %is_first = arith.cmpi eq, %t, %c0 : index
    %sends = arith.cmpi eq, %rank, %c0 : index
    %rank16 = arith.index_cast %rank : index to i16
    %mine = arith.shli %bit, %rank16 : i16
    %named = arith.andi %waits, %mine : i16
    %receives = arith.cmpi ne, %named, %none : i16
    %bars = nvgpu.mbarrier.create -> !bars
    scf.if %is_first {{
      nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    }}
    %value = memref.load %x[%t] : !global
    memref.store %value, %src[%t] : !tile
    %before = memref.load %y[%rank, %t] : !all
    memref.store %before, %dst[%t] : !tile
    gpu.barrier
    scf.if %is_first {{
      scf.if %receives {{
        tile.expect %bars[%c0] for %dst : !bars, !tile
      }}
    }}
    scf.if %sends {{
      {copy}
    }}
    scf.if %receives {{
      tile.wait %bars[%c0] parity(%phase) : !bars
    }}
    %after = memref.load %dst[%t] : !tile
    memref.store %after, %y[%rank, %t] : !all
    gpu.return
  }}
}}
func.func @main(%x: !global, %y: !all, %mask: i16, %waits: i16)
    attributes {{llvm.emit_c_interface}} {{
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %ctas = arith.constant {cluster} : index
  %t0 = gpu.wait async
  %dx, %t1 = gpu.alloc async [%t0] () : !global
  %dy, %t2 = gpu.alloc async [%t1] () : !all
  %t3 = gpu.memcpy async [%t2] %dx, %x : !global, !global
  %t4 = gpu.memcpy async [%t3] %dy, %y : !all, !all
  %t5 = gpu.launch_func async [%t4] @kernels::@k clusters in (%ctas, %c1, %c1)
      blocks in (%ctas, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%dx : !global, %dy : !all, %mask : i16, %waits : i16)
  %t6 = gpu.memcpy async [%t5] %y, %dy : !all, !all
  %t7 = gpu.dealloc async [%t6] %dx : !global
  %t8 = gpu.dealloc async [%t7] %dy : !all
  gpu.wait [%t8]
  return
}}
}}
"""


def signed(mask: int) -> int:
    """Return the bits of a mask as a signed number of 16 bits."""
    return mask - (1 << 16) if mask >= 1 << 15 else mask


def run(
    copy: str, mask: int, device: str, element: str = "i32", cluster: int = 4, waits: int = -1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tile that is sent, and what all CTAs have before and after it."""
    with mt.context():
        rows = cluster + 1  # one of which no CTA writes out
        text = KERNEL.format(cluster=cluster, rows=rows, n=N, element=element, copy=copy)
        program = mt.compile(mt.parse(text))
    rng = np.random.default_rng(mask)
    x = rng.integers(1, 50, N).astype(DTYPES[element])
    y = rng.integers(1, 50, (rows, N)).astype(DTYPES[element])
    before = y.copy()
    given = signed(mask), signed(mask if waits < 0 else waits)
    program.invoke("main", x, y, *given, device=device)
    return x, before, y


def check(copy: str, mask: int, device: str, cluster: int = 4) -> None:
    x, expected, y = run(copy, mask, device, cluster=cluster)
    for rank in range(cluster):
        if mask >> rank & 1:
            expected[rank] = x
    np.testing.assert_array_equal(y, expected)


LOAD = "tile.copy_async %x to %dst ctas(%mask) mbarrier(%bars[%c0]) {0} : !global to !tile, !bars"
SEND = "tile.copy_async %src to %dst ctas(%mask) mbarrier(%bars[%c0]) {0} : !tile to !tile, !bars"
BY = {
    "thread": "scf.if %is_first {{ {} }}",
    "warp": "%w = arith.constant 32 : index %in = arith.cmpi ult, %t, %w : index"
    " scf.if %in {{ {} }}",
    "cta": "{}",
}  # fmt: skip
MASKS = [(2, 3), (2, 2), (4, 15), (4, 14), (4, 5), (4, 8), (8, 255), (8, 0b10110110), (8, 0)]


@pytest.mark.parametrize("issue", BY)
@pytest.mark.parametrize(("cluster", "mask"), MASKS)
def test_a_load_goes_to_every_cta_of_a_mask(
    cluster: int, mask: int, issue: str, device: str
) -> None:
    check(BY[issue].format(LOAD.format(f"issue({issue})")), mask, device, cluster)


@pytest.mark.parametrize("issue", BY)
@pytest.mark.parametrize(("cluster", "mask"), [(4, 14), (4, 15), (4, 4), (8, 0b10110110), (8, 0)])
def test_a_tile_goes_to_every_cta_of_a_mask(
    cluster: int, mask: int, issue: str, device: str
) -> None:
    check(BY[issue].format(SEND.format(f"issue({issue})")), mask, device, cluster)


def test_a_constant_mask_is_written_out(device: str) -> None:
    constant = "%three = arith.constant 10 : i16 " + SEND.replace("%mask", "%three")
    check(BY["thread"].format(constant.format("")), 10, device)


def test_several_ctas_by_registers(device: str) -> None:
    check(SEND.format('issue(cta) {variant = "st_async"}'), 14, device)


def test_a_load_goes_to_one_peer(device: str) -> None:
    copy = LOAD.replace("ctas(%mask)", "cta(%one)").format("")
    check(BY["thread"].format(copy), 2, device)


REDUCED = [("i32", kind) for kind in ("add", "minsi", "minui", "maxsi", "maxui")]
REDUCED += [("i32", kind) for kind in ("and", "or", "xor", "inc", "dec")] + [("i64", "add")]
KINDS: dict[str, Any] = {
    "add": np.add, "minsi": np.minimum, "minui": np.minimum, "maxsi": np.maximum,
    "maxui": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "minnumf": np.minimum, "maxnumf": np.maximum,
    "inc": lambda old, by: np.where(old >= by, 0, old + 1),
    "dec": lambda old, by: np.where((old == 0) | (old > by), by, old - 1),
}  # fmt: skip


@pytest.mark.parametrize(("element", "kind"), REDUCED)
def test_peers_combine_a_tile_with_theirs(element: str, kind: str, device: str) -> None:
    copy = BY["thread"].format(SEND.format("").replace("[%c0])", f"[%c0]) reduce({kind})"))
    x, expected, y = run(copy, 14, device, element)
    for rank in (1, 2, 3):
        expected[rank] = KINDS[kind](expected[rank], x)
    np.testing.assert_array_equal(y, expected)


IN_GLOBAL = REDUCED + [("i64", kind) for kind in ("minsi", "maxui", "and", "or", "xor")]
IN_GLOBAL += [(element, "add") for element in ("f16", "bf16", "f32", "f64")]
IN_GLOBAL += [(e, kind) for e in ("f16", "bf16") for kind in ("minnumf", "maxnumf")]
STORE = """
      %row = memref.subview %y[1, 0] [1, {n}] [1, 1]
          : !all to memref<{n}x{e}, strided<[1], offset: {n}>>
      tile.copy_async %src to %row reduce({kind}) issue(cta)
          : !tile to memref<{n}x{e}, strided<[1], offset: {n}>>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
      gpu.barrier
      %there = memref.load %y[%c1, %t] : !all
      memref.store %there, %dst[%t] : !tile"""


@pytest.mark.parametrize(("element", "kind"), IN_GLOBAL)
def test_global_memory_is_combined_with_a_tile(element: str, kind: str, device: str) -> None:
    """The thread that stored sees the result once its group is done."""
    copy = STORE.format(n=N, e=element, kind=kind)
    x, before, y = run(copy, 0, device, element, cluster=1)
    expected = KINDS[kind](before[1], x).astype(y.dtype)
    np.testing.assert_array_equal(y, [expected, expected])


def test_who_is_in_the_mask_must_arm() -> None:
    copy = BY["thread"].format(LOAD.format(""))
    with pytest.raises(EmulatorError):
        run(copy, 15, "emulator", waits=7)
