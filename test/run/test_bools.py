# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memrefs of i1 hold a byte for each element, as arrays of bools do.

Kernels and host functions negate one, by every kind of access, on the emulator.
"""

from __future__ import annotations

import numpy as np
import pytest

import mlir_tile as mt

pytest.importorskip("tile_emulator")

GIVEN = np.random.default_rng(5).random(64) < 0.5

SCALARS = """
    %x = memref.load %in[%t] : memref<64xi1>
    %y = arith.xori %x, %true : i1
    memref.store %y, %out[%t] : memref<64xi1>"""
VECTORS = """
    %all = arith.constant dense<true> : vector<1xi1>
    %x = vector.load %in[%t] : memref<64xi1>, vector<1xi1>
    %y = arith.xori %x, %all : vector<1xi1>
    vector.store %y, %out[%t] : memref<64xi1>, vector<1xi1>"""
WIDE_VECTORS = """
    scf.if %first {
      %all = arith.constant dense<true> : vector<32xi1>
      scf.for %i = %c0 to %c64 step %c32 {
        %x = vector.load %in[%i] : memref<64xi1>, vector<32xi1>
        %y = arith.xori %x, %all : vector<32xi1>
        vector.store %y, %out[%i] : memref<64xi1>, vector<32xi1>
      }
    }"""
# What is stored is its own mask.
MASKED = """
    scf.if %first {
      %all = arith.constant dense<true> : vector<64xi1>
      %x = vector.maskedload %in[%c0], %all, %all
          : memref<64xi1>, vector<64xi1>, vector<64xi1> into vector<64xi1>
      %y = arith.xori %x, %all : vector<64xi1>
      vector.maskedstore %out[%c0], %y, %y : memref<64xi1>, vector<64xi1>, vector<64xi1>
    }"""
GATHERED = """
    %all = arith.constant dense<true> : vector<1xi1>
    %at = vector.broadcast %t : index to vector<1xindex>
    %x = vector.gather %in[%c0] [%at], %all, %all
        : memref<64xi1>, vector<1xindex>, vector<1xi1>, vector<1xi1> into vector<1xi1>
    %y = arith.xori %x, %all : vector<1xi1>
    vector.scatter %out[%c0] [%at], %all, %y
        : memref<64xi1>, vector<1xindex>, vector<1xi1>, vector<1xi1>"""
AFFINE = """
    scf.if %first {
      affine.for %i = 0 to 64 {
        %x = affine.load %in[%i] : memref<64xi1>
        %y = arith.xori %x, %true : i1
        affine.store %y, %out[%i] : memref<64xi1>
      }
    }"""
BY_ARGUMENT = """
    scf.if %first {
      %mine = arith.select %true, %in, %out : memref<64xi1>
      %end = scf.for %i = %c0 to %c64 step %c1 iter_args(%from = %mine) -> memref<64xi1> {
        %x = memref.load %from[%i] : memref<64xi1>
        %y = arith.xori %x, %true : i1
        memref.store %y, %out[%i] : memref<64xi1>
        scf.yield %from : memref<64xi1>
      }
    }"""
SHARED = """
    %x = memref.load %in[%t] : memref<64xi1>
    memref.store %x, %shared[%t] : memref<64xi1, #gpu.address_space<workgroup>>
    gpu.barrier
    %back = memref.load %shared[%t] : memref<64xi1, #gpu.address_space<workgroup>>
    %y = arith.xori %back, %true : i1
    memref.store %y, %out[%t] : memref<64xi1>"""
LAYOUT = """
    %x = memref.load %in[%t] : memref<64xi1>
    %row = arith.divui %t, %c8 : index
    %column = arith.remui %t, %c8 : index
    memref.store %x, %tile[%row, %column] : memref<8x8xi1, #layout, #gpu.address_space<workgroup>>
    gpu.barrier
    scf.if %first {
      %all = arith.constant dense<true> : vector<8xi1>
      scf.for %i = %c0 to %c8 step %c1 {
        %v = vector.transfer_read %tile[%i, %c0], %true {in_bounds = [true]}
            : memref<8x8xi1, #layout, #gpu.address_space<workgroup>>, vector<8xi1>
        %y = arith.xori %v, %all : vector<8xi1>
        %at = arith.muli %i, %c8 : index
        vector.store %y, %out[%at] : memref<64xi1>, vector<8xi1>
      }
    }"""
BODIES = {
    "scalars": SCALARS,
    "vectors": VECTORS,
    "wide vectors": WIDE_VECTORS,
    "masked": MASKED,
    "gathered": GATHERED,
    "affine": AFFINE,
    "by argument": BY_ARGUMENT,
    "shared": SHARED,
    "layout": LAYOUT,
}

KERNEL = """
#layout = #tile.layout<(8, 8) : (8, 1), swizzle = <1, 3, 1>>
gpu.module @kernels {{
  gpu.func @negate(%in: memref<64xi1>, %out: memref<64xi1>)
      workgroup(%shared: memref<64xi1, #gpu.address_space<workgroup>>,
                %tile: memref<8x8xi1, #layout, #gpu.address_space<workgroup>>)
      kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
{constants}
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index{body}
    gpu.return
  }}
}}
"""
CONSTANTS = "    %true = arith.constant true\n" + "\n".join(
    f"    %c{n} = arith.constant {n} : index" for n in (0, 1, 4, 8, 32, 64)
)


def negate_on_a_gpu(body: str, given: np.ndarray) -> np.ndarray:
    with mt.context():
        executable = mt.compile(mt.parse(KERNEL.format(constants=CONSTANTS, body=body)))
    out = np.zeros(64, np.bool_)
    executable.kernel("kernels", "negate", device="emulator")[1](given, out)
    return out


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_kernel_negates_bools(body: str) -> None:
    np.testing.assert_array_equal(negate_on_a_gpu(body, GIVEN), ~GIVEN)


def test_what_is_stored_is_0_or_1_and_what_is_not_0_is_true() -> None:
    given = np.arange(64, dtype=np.uint8) % 3 * 2
    out = negate_on_a_gpu(SCALARS, given)
    np.testing.assert_array_equal(out.view(np.uint8), (given == 0).astype(np.uint8))


HOST = """
memref.global "private" constant @odd : memref<4xi1> = dense<[false, true, false, true]>
func.func @main(%in: memref<64xi1>, %out: memref<64xi1>) attributes {{llvm.emit_c_interface}} {{
{constants}
  %odd = memref.get_global @odd : memref<4xi1>
  %copy = memref.alloc() : memref<64xi1>
  memref.copy %in, %copy : memref<64xi1> to memref<64xi1>
  scf.for %i = %c0 to %c64 step %c1 {{
    %x = func.call @at(%copy, %i) : (memref<64xi1>, index) -> i1
    %digit = arith.remui %i, %c4 : index
    %o = memref.load %odd[%digit] : memref<4xi1>
    %y = arith.xori %x, %o : i1
    memref.store %y, %out[%i] : memref<64xi1>
  }}
  memref.dealloc %copy : memref<64xi1>
  return
}}
func.func private @at(%from: memref<64xi1>, %i: index) -> i1 {{
  %v = vector.load %from[%i] : memref<64xi1>, vector<1xi1>
  %x = vector.extract %v[0] : i1 from vector<1xi1>
  return %x : i1
}}
"""


def test_a_host_function_reads_and_writes_bools() -> None:
    with mt.context():
        executable = mt.compile(mt.parse(HOST.format(constants=CONSTANTS)))
    out = np.zeros(64, np.bool_)
    executable.invoke("main", GIVEN, out, device="emulator")
    np.testing.assert_array_equal(out, GIVEN ^ (np.arange(64) % 2 == 1))


SEND = """
!tile = memref<64xi1, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
gpu.module @kernels {{
  gpu.func @negate(%in: memref<64xi1>, %out: memref<64xi1>) workgroup(%src: !tile, %dst: !tile)
      kernel attributes {{tile.insert_sync, known_block_size = array<i32: 64, 1, 1>,
                          known_cluster_size = array<i32: 2, 1, 1>}} {{
{constants}
    %peer = arith.constant 1 : i32
    %phase = arith.constant false
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    %rank = gpu.cluster_block_id x
    %sends = arith.cmpi eq, %rank, %c0 : index
    %bar = nvgpu.mbarrier.create -> !bars
    scf.if %first {{ nvgpu.mbarrier.init %bar[%c0], %c1 : !bars }}
    scf.if %sends {{
      %x = memref.load %in[%t] : memref<64xi1>
      %y = arith.xori %x, %true : i1
      memref.store %y, %src[%t] : !tile
      gpu.barrier
      scf.if %first {{
        tile.copy_async %src to %dst cta(%peer) mbarrier(%bar[%c0]) : !tile to !tile, !bars
      }}
    }} else {{
      scf.if %first {{ tile.expect %bar[%c0] for %dst : !bars, !tile }}
      tile.wait %bar[%c0] parity(%phase) : !bars
      %x = memref.load %dst[%t] : !tile
      memref.store %x, %out[%t] : memref<64xi1>
    }}
    gpu.return
  }}
}}
"""


def test_a_tile_of_bools_is_copied_as_bytes() -> None:
    with mt.context():
        executable = mt.compile(mt.parse(SEND.format(constants=CONSTANTS)))
    out = np.zeros(64, np.bool_)
    executable.kernel("kernels", "negate", device="emulator")[2](GIVEN, out)
    np.testing.assert_array_equal(out, ~GIVEN)
