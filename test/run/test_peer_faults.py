# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults planted in kernels that store to peers, access their memory or reduce over the cluster.

Each is named by the emulator, and by tile-check-sync where it can be sure; without the fault, both
are silent.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mlir_tile as mt

PROGRAM = """
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
!row = memref<64xi32, #wg>
!there = memref<64xi32, 7>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @kernel(%flags: memref<128xi32>, %b: memref<128xi32>) workgroup(%dst: !row) kernel
        attributes {{{insert} known_block_size = array<i32: 64, 1, 1>,
                    known_cluster_size = array<i32: 2, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %even = arith.constant false
      %odd = arith.constant true
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %t = gpu.thread_id x
      %place = gpu.global_id x
      %ti = arith.index_cast %t : index to i32
      %number = arith.index_cast %place : index to i32
      %block = gpu.cluster_block_id x
      %rank = arith.index_cast %block : index to i32
      %peer = arith.subi %one, %rank : i32
      %far = arith.addi %rank, %one : i32
      %is_first = arith.cmpi eq, %t, %c0 : index
      %bars = nvgpu.mbarrier.create -> !bars
      {body}
      gpu.return
    }}
  }}
  func.func @main(%a: memref<128xi32>, %b: memref<128xi32>) attributes {{llvm.emit_c_interface}} {{
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %start = gpu.wait async
    %da, %t0 = gpu.alloc async [%start] () : memref<128xi32>
    %db, %t1 = gpu.alloc async [%t0] () : memref<128xi32>
    %t2 = gpu.memcpy async [%t1] %da, %a : memref<128xi32>, memref<128xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@kernel clusters in (%c2, %c1, %c1)
        blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%da : memref<128xi32>, %db : memref<128xi32>)
    %t4 = gpu.memcpy async [%t3] %b, %db : memref<128xi32>, memref<128xi32>
    %t5 = gpu.dealloc async [%t4] %da : memref<128xi32>
    %t6 = gpu.dealloc async [%t5] %db : memref<128xi32>
    gpu.wait [%t6]
    return
  }}
}}
"""
INIT = "scf.if %is_first { nvgpu.mbarrier.init %bars[%c0], %c1 : !bars }"
EXPECT = "scf.if %is_first { tile.expect %bars[%c0] for %dst : !bars, !row }"
SEND = "tile.store_async %number to %dst[%t] cta(%peer) mbarrier(%bars[%c0]) : i32, !row, !bars"
WAIT = "tile.wait %bars[%c0] parity(%even) : !bars"
READ = """%v = memref.load %dst[%t] : !row
      memref.store %v, %b[%place] : memref<128xi32>"""
STORES = f"{INIT}\n{EXPECT}\n{SEND}\n{WAIT}\n{READ}"
MEET = "nvvm.cluster.arrive\nnvvm.cluster.wait"
FILL = "memref.store %number, %dst[%t] : !row"
PEER = "%there = tile.peer %dst cta(%peer) : !row to !there"
LOAD = """%v = memref.load %there[%t] : !there
      memref.store %v, %b[%place] : memref<128xi32>"""
LOADS = f"{FILL}\n{MEET}\n{PEER}\n{LOAD}"
PUTS = f"""{MEET}
      {PEER}
      memref.store %number, %there[%t] : !there
      {MEET}
      {READ}"""
REDUCE = """%r = tile.all_reduce add %number : i32
      memref.store %r, %b[%place] : memref<128xi32>"""
GUARDED = f"""%flag = memref.load %flags[%c0] : memref<128xi32>
      %go = arith.cmpi eq, %flag, %zero : i32
      scf.if %go {{ {REDUCE} }}"""


def compiled(body: str, *, insert: bool) -> tuple[Any, list[str]]:
    """Compile a kernel; return what was warned of, too."""
    with warnings.catch_warnings(record=True) as caught, mt.context():
        warnings.simplefilter("always")
        text = PROGRAM.format(body=body, insert="tile.insert_sync," if insert else "")
        executable = mt.compile(mt.parse(text))
    return executable, [str(warning.message) for warning in caught]


def run(executable: Any, flags: np.ndarray | None = None, schedule: str = "eager") -> np.ndarray:
    b = np.zeros(128, np.int32)
    flags = np.zeros(128, np.int32) if flags is None else flags
    executable.invoke("main", flags, b, device="emulator", schedule=schedule)
    return b


NUMBERS = np.arange(128)
RIGHT = {
    "stores": (STORES, np.roll(NUMBERS, 64)),
    "loads": (LOADS, np.roll(NUMBERS, 64)),
    "puts": (PUTS, np.roll(NUMBERS, 64)),
    "reduces": (REDUCE, np.full(128, NUMBERS.sum())),
    "guarded": (GUARDED, np.full(128, NUMBERS.sum())),
}


@pytest.mark.parametrize("schedule", ["eager", "late", "random:3"])
@pytest.mark.parametrize("name", RIGHT)
def test_without_a_fault_all_are_silent(name: str, schedule: str) -> None:
    body, expected = RIGHT[name]
    executable, warned = compiled(body, insert=True)
    assert not warned
    assert (run(executable, schedule=schedule) == expected).all()


def changed(body: str, old: str, new: str) -> str:
    assert old in body
    return body.replace(old, new, 1)


FAULTS: dict[str, tuple[str, bool, str, str]] = {
    # body, whether tile.insert_sync is there, what the emulator calls it, what the check says
    "no_cluster_barrier": (
        STORES,
        False,
        "not-started",
        "comes on some path before any cluster barrier",
    ),
    "nothing_armed": (changed(STORES, EXPECT, ""), True, "deadlock", "a barrier that nothing arms"),
    "armed_with_too_little": (
        changed(
            *(STORES, EXPECT),
            "%few = arith.constant 252 : index\n"
            "scf.if %is_first { nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %few : !bars }",
        ),
        *(True, "arrivals", ""),
    ),
    "armed_with_too_much": (
        changed(STORES, "for %dst : !bars, !row", "for %dst, %dst : !bars, !row, !row"),
        *(True, "deadlock", ""),
    ),
    "armed_by_all": (
        changed(STORES, EXPECT, "tile.expect %bars[%c0] for %dst : !bars, !row"),
        True,
        "arrivals",
        "must arrive at most 1",
    ),
    "no_wait": (changed(STORES, WAIT, ""), True, "in-flight", ""),
    "waits_for_the_next_phase": (
        changed(STORES, "parity(%even)", "parity(%odd)"),
        *(True, "in-flight", ""),
    ),
    "not_initialised": (
        changed(STORES, INIT, ""),
        True,
        "uninitialised-barrier",
        "that nothing initialises",
    ),
    "a_rank_beyond_the_cluster": (
        changed(STORES, "cta(%peer)", "cta(%far)"),
        *(True, "address", ""),
    ),
    "only_some_threads_store": (
        changed(
            STORES,
            SEND,
            f"%low = arith.cmpi ult, %ti, %one : i32\nscf.if %low {{ {SEND} }}",
        ),
        *(True, "deadlock", ""),
    ),
    "two_threads_store_to_one_place": (
        changed(STORES, "to %dst[%t]", "to %dst[%c0]"),
        *(True, "in-flight", ""),
    ),
    "a_peer_is_read_too_early": (
        changed(LOADS, MEET, ""),
        False,
        "not-started",
        "before any cluster barrier",
    ),
    "a_peer_is_read_before_it_has_stored": (
        changed(LOADS, f"{FILL}\n{MEET}", f"{MEET}\n{FILL}"),
        *(True, "race", ""),
    ),
    "a_peer_may_be_gone": (LOADS, False, "early-exit", "without a final cluster barrier"),
    "a_peer_beyond_the_cluster": (changed(LOADS, "cta(%peer)", "cta(%far)"), True, "address", ""),
    "what_a_peer_stored_is_read_too_early": (
        PUTS[: PUTS.rindex(MEET)] + READ,
        *(True, "race", ""),
    ),
    "two_peers_store_to_one_place": (
        changed(PUTS, "%there[%t]", "%there[%c0]"),
        *(True, "race", ""),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name: str) -> None:
    body, insert, kind, warning = FAULTS[name]
    executable, warned = compiled(body, insert=insert)
    if warning:
        assert any(warning in text for text in warned), warned
    with pytest.raises(mt.EmulatorError) as raised:
        run(executable)
    assert raised.value.kind == kind, raised.value


@pytest.mark.parametrize("schedule", ["eager", "late", "random:3"])
def test_ctas_that_differ_in_a_reduction_are_named(schedule: str) -> None:
    """What decides comes from memory: the compiler cannot see it, and the emulator says it."""
    body = GUARDED.replace("%flags[%c0]", "%flags[%place]")
    with pytest.raises(mt.CompileError, match="executed by all threads of the cluster"):
        compiled(body, insert=True)
    by_rank = f"""%base = memref.load %flags[%c0] : memref<128xi32>
      memref.store %base, %dst[%t] : !row
      gpu.barrier
      scf.if %is_first {{
        %own = memref.load %flags[%place] : memref<128xi32>
        memref.store %own, %dst[%c0] : !row
      }}
      gpu.barrier
      %flag = memref.load %dst[%c0] : !row
      %go = arith.cmpi eq, %flag, %zero : i32
      scf.if %go {{ {REDUCE} }}"""
    executable, _ = compiled(by_rank, insert=True)
    assert (run(executable, schedule=schedule) == NUMBERS.sum()).all()
    flags = np.zeros(128, np.int32)
    flags[64] = 1
    with pytest.raises(mt.EmulatorError) as raised:
        run(executable, flags, schedule)
    assert raised.value.kind in ("deadlock", "early-exit"), raised.value
