# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels to be launched without host code."""

from __future__ import annotations

import functools
from typing import Any

from mlir import ir

import mlir_tile as mt
from mlir_tile.binaries import embedded_ptx
from mlir_tile.runtime.executable import Executable

ANY = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
SWIZZLED = "memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>"

COPY = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c0 : {type}
    %m = memref.dim %a, %c1 : {type}
    scf.for %i = %c0 to %n step %c1 {{
      scf.for %j = %c0 to %m step %c1 {{
        %v = memref.load %a[%i, %j] : {type}
        %w = arith.addf %v, %x : f32
        memref.store %w, %b[%i, %j] : {type}
      }}
    }}
    gpu.return
"""

PROGRAM = f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @any(%a: {ANY}, %b: {ANY}, %x: f32) kernel {{
    {COPY.format(type=ANY)}
  }}
  gpu.func @dense(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %x: f32) kernel {{
    {COPY.format(type="memref<?x?xf32>")}
  }}
  gpu.func @offset(%a: memref<4xi32, strided<[2], offset: 3>>, %b: memref<4xi32>) kernel
      attributes {{known_block_size = array<i32: 4, 1, 1>}} {{
    %t = gpu.thread_id x
    %v = memref.load %a[%t] : memref<4xi32, strided<[2], offset: 3>>
    memref.store %v, %b[%t] : memref<4xi32>
    gpu.return
  }}
  gpu.func @zero_d(%a: memref<f64>, %x: f64) kernel {{
    memref.store %x, %a[] : memref<f64>
    gpu.return
  }}
  gpu.func @scalars(%out: memref<9xf64>, %a: i1, %b: i8, %c: i16, %d: i32, %e: i64, %f: index,
                    %g: f16, %h: f32, %i: f64) kernel {{
    %0 = arith.uitofp %a : i1 to f64
    %1 = arith.sitofp %b : i8 to f64
    %2 = arith.sitofp %c : i16 to f64
    %3 = arith.sitofp %d : i32 to f64
    %4 = arith.sitofp %e : i64 to f64
    %f64 = arith.index_cast %f : index to i64
    %5 = arith.sitofp %f64 : i64 to f64
    %6 = arith.extf %g : f16 to f64
    %7 = arith.extf %h : f32 to f64
    %v = vector.from_elements %0, %1, %2, %3, %4, %5, %6, %7, %i : vector<9xf64>
    %c0 = arith.constant 0 : index
    vector.store %v, %out[%c0] : memref<9xf64>, vector<9xf64>
    gpu.return
  }}
  gpu.func @ranks(%out: memref<?xi32>) kernel
      attributes {{known_block_size = array<i32: 1, 1, 1>}} {{
    %b = gpu.block_id x
    %r = gpu.cluster_block_id x
    %r32 = arith.index_cast %r : index to i32
    memref.store %r32, %out[%b] : memref<?xi32>
    gpu.return
  }}
  gpu.func @bytes(%a: memref<4xbf16>, %b: memref<4xf8E4M3FN>) kernel {{
    gpu.return
  }}
  gpu.func @nothing() kernel {{
    gpu.return
  }}
  // Its own buffer of 64 KiB lies in dynamic memory, in front of what the launch asks for.
  gpu.func @front(%out: memref<2xi32>)
      workgroup(%big: memref<16384xi32, #gpu.address_space<workgroup>>) kernel
      attributes {{known_block_size = array<i32: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %last = arith.constant 16383 : index
    %seven = arith.constant 7 : i32
    %eight = arith.constant 8 : i32
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %view = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<4xi32, #gpu.address_space<workgroup>>
    memref.store %seven, %big[%last] : memref<16384xi32, #gpu.address_space<workgroup>>
    memref.store %eight, %view[%c0] : memref<4xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    %0 = memref.load %big[%last] : memref<16384xi32, #gpu.address_space<workgroup>>
    %1 = memref.load %view[%c0] : memref<4xi32, #gpu.address_space<workgroup>>
    memref.store %0, %out[%c0] : memref<2xi32>
    memref.store %1, %out[%c1] : memref<2xi32>
    gpu.return
  }}
  gpu.func @swizzled(%a: {SWIZZLED}) kernel {{
    gpu.return
  }}
  gpu.func @unranked(%a: memref<*xf32>) kernel {{
    gpu.return
  }}
  gpu.func @vector(%a: vector<4xf32>) kernel {{
    gpu.return
  }}
}}
}}
"""


@functools.cache
def lowered() -> ir.Module:
    """Return the program as it is compiled, once."""
    with mt.context():
        return mt.lower(mt.parse(PROGRAM), "ptx")


def fresh() -> Executable:
    """Return the program as if it had just been compiled."""
    return Executable(lowered(), embedded_ptx(lowered()), {}, 3)


@functools.cache
def executable() -> Executable:
    """Return the program, the same each time."""
    return fresh()


def kernel(name: str, device: str = "auto") -> Any:
    """Return a kernel of the program."""
    return executable().kernel("kernels", name, device)
