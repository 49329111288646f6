# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tile-insert-sync adds is enough: kernels whose buffers and barriers have no single name run
clean, and each without one of the lines that were added shows the fault that it was added for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt

PROGRAM = """
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>
!tile = memref<64x8xf32, #wg>
!wide = memref<64x8xf32, strided<[12, 1]>, #wg>
!global = memref<64x8xf32>
!row = vector<8xf32>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @kernel(%a: !global, %b: !global)
        workgroup(%s: !tile, %s2: !tile, %d: !tile, %w: !wide, %e: !wide) kernel
        attributes {{tile.insert_sync, known_block_size = array<i32: 64, 1, 1>,
                    known_cluster_size = array<i32: {ctas}, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %even = arith.constant false
      %to1 = arith.constant 1 : i32
      %to2 = arith.constant 2 : i32
      %zero = arith.constant dense<0.0> : !row
      %t = gpu.thread_id x
      %rank = gpu.cluster_block_id x
      %first = arith.cmpi eq, %t, %c0 : index
      %is0 = arith.cmpi eq, %rank, %c0 : index
      %is1 = arith.cmpi eq, %rank, %c1 : index
      %is2 = arith.cmpi eq, %rank, %c2 : index
      %v = vector.load %a[%t, %c0] : !global, !row
      %bars = nvgpu.mbarrier.create -> !bars
      {body}
      gpu.return
    }}
  }}
  func.func @main(%a: !global, %b: !global) attributes {{llvm.emit_c_interface}} {{
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %ctas = arith.constant {ctas} : index
    %start = gpu.wait async
    %da, %t0 = gpu.alloc async [%start] () : !global
    %t1 = gpu.memcpy async [%t0] %da, %a : !global, !global
    %db, %t2 = gpu.alloc async [%t1] () : !global
    %t3 = gpu.launch_func async [%t2] @kernels::@kernel
        clusters in (%ctas, %c1, %c1) blocks in (%ctas, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%da : !global, %db : !global)
    %t4 = gpu.memcpy async [%t3] %b, %db : !global, !global
    %t5 = gpu.dealloc async [%t4] %da : !global
    %t6 = gpu.dealloc async [%t5] %db : !global
    gpu.wait [%t6]
    return
  }}
}}
"""

INIT = "scf.if %first { nvgpu.mbarrier.init %bars[%c0], %c1 : !bars }"

RECEIVE = """
        scf.if %first { tile.expect %bars[%c0] for %d : !bars, !tile }
        tile.wait %bars[%c0] parity(%even) : !bars
        %o = vector.load %d[%t, %c0] : !tile, !row
        vector.store %o, %b[%t, %c0] : !global, !row"""


def sending(body: str, setup: str = INIT) -> str:
    """Give rank 0 that body, and let rank 1 receive a tile into `%d`."""
    return f"{setup}\n scf.if %is0 {{ {body} }} else {{ {RECEIVE} }}"


def copy(source: str, barriers: str = "%bars") -> str:
    return f"""scf.if %first {{
        tile.copy_async {source} to %d cta(%to1) mbarrier({barriers}[%c0])
            : !tile to !tile, !bars
      }}"""


STORE = "vector.store %v, %s[%t, %c0] : !tile, !row\n gpu.barrier\n"

SOURCES = {
    "stored_through_a_branch": f"""
        %buffer = scf.if %is0 -> !tile {{ scf.yield %s : !tile }} else {{ scf.yield %s2 : !tile }}
        vector.store %v, %buffer[%t, %c0] : !tile, !row
        gpu.barrier
        {copy("%s")}""",
    "copied_from_a_branch": f"""
        {STORE}
        %buffer = scf.if %is0 -> !tile {{ scf.yield %s : !tile }} else {{ scf.yield %s2 : !tile }}
        %aligned = memref.assume_alignment %buffer, 16 : !tile
        {copy("%aligned")}""",
    "copied_from_an_argument_of_a_loop": f"""
        {STORE}
        scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %s, %q = %s2) -> (!tile, !tile) {{
          %aligned = memref.assume_alignment %p, 16 : !tile
          {copy("%aligned")}
          scf.yield %q, %p : !tile, !tile
        }}""",
    "stored_through_a_pointer": f"""
        %address = memref.extract_aligned_pointer_as_index %s : !tile -> index
        %number = arith.index_cast %address : index to i64
        %pointer = llvm.inttoptr %number : i64 to !llvm.ptr<3>
        %column = arith.index_cast %t : index to i64
        %place = llvm.getelementptr %pointer[%column]
            : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, vector<8xf32>
        llvm.store %v, %place : vector<8xf32>, !llvm.ptr<3>
        gpu.barrier
        {copy("%s")}""",
}

# Two barrier groups by turns, each for one tile.
TURNS = f"""
      %other = nvgpu.mbarrier.create -> !bars
      scf.if %first {{
        nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
        nvgpu.mbarrier.init %other[%c0], %c1 : !bars
      }}
      vector.store %v, %s[%t, %c0] : !tile, !row
      gpu.barrier
      scf.for %k = %c0 to %c2 step %c1 iter_args(%p = %bars, %n = %other) -> (!bars, !bars) {{
        scf.if %is0 {{
          {copy("%s", "%p")}
        }} else {{
          {RECEIVE.replace("%bars", "%p")}
        }}
        nvvm.cluster.arrive
        nvvm.cluster.wait
        scf.yield %n, %p : !bars, !bars
      }}"""


# Rank 0 copies to rank 1 by st.async, and that one on to rank 2 by bulk copies.
FORWARD = f"""{INIT}
      scf.if %is0 {{
        vector.store %v, %s[%t, %c0] : !tile, !row
        gpu.barrier
        tile.copy_async %s to %w cta(%to1) mbarrier(%bars[%c0]) issue(cta)
            {{variant = "st_async"}} : !tile to !wide, !bars
      }}
      scf.if %is1 {{
        scf.if %first {{
          tile.expect %bars[%c0] for %w : !bars, !wide
          tile.wait %bars[%c0] parity(%even) : !bars
          tile.copy_async %w to %e cta(%to2) mbarrier(%bars[%c0])
              {{variant = "bulk"}} : !wide to !wide, !bars
        }}
      }}
      scf.if %is2 {{
        scf.if %first {{ tile.expect %bars[%c0] for %e : !bars, !wide }}
        tile.wait %bars[%c0] parity(%even) : !bars
        %o = vector.load %e[%t, %c0] : !wide, !row
        vector.store %o, %b[%t, %c0] : !global, !row
      }}"""

# The receiver clears its buffer once the barrier is initialised.
CLEAR = f"""{INIT}
      vector.store %zero, %d[%t, %c0] : !tile, !row"""


def compiled(body: str, ctas: int = 2) -> mt.Executable:
    with mt.context():
        return mt.compile(mt.parse(PROGRAM.format(body=body, ctas=ctas)))


def inserted(body: str, ctas: int = 2) -> str:
    """Return the program as the pass leaves it, and no longer asking for it."""
    with mt.context(), ir.Location.unknown():
        module = mt.parse(PROGRAM.format(body=body, ctas=ctas))
        PassManager.parse("builtin.module(tile-insert-sync)").run(module.operation)
        return re.sub(r", tile\.insert_sync|tile\.insert_sync, ", "", str(module))


def run(program: mt.Executable | str, device: str) -> None:
    if isinstance(program, str):
        with mt.context():
            program = mt.compile(mt.parse(program))
    given = np.arange(512, dtype=np.float32).reshape(64, 8)
    made = np.zeros_like(given)
    program.invoke("main", given, made, device=device, timeout=600)
    np.testing.assert_array_equal(made, given)


def without(line: str, text: str) -> str:
    kept, lines = re.subn(rf"^ *{line}\b.*\n", "", text, flags=re.MULTILINE)
    assert lines > 0
    return kept


def with_barrier_before(line: str, text: str) -> str:
    """Move the first cluster barrier to the first place where that matches."""
    barrier = re.search(r"^ *nvvm\.cluster\.arrive\n *nvvm\.cluster\.wait\n", text, re.MULTILINE)
    place = re.search(rf"^ *{line}", text, re.MULTILINE)
    assert barrier and place and place.start() < barrier.start()
    return (
        text[: place.start()]
        + barrier[0]
        + text[place.start() : barrier.start()]
        + text[barrier.end() :]
    )


@pytest.mark.parametrize("body", SOURCES.values(), ids=SOURCES)
def test_a_source_is_fenced_whatever_it_is_called(body: str, device: str) -> None:
    run(compiled(sending(body)), device)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", SOURCES.values(), ids=SOURCES)
def test_without_that_fence_the_emulator_objects(body: str) -> None:
    with pytest.raises(mt.Error, match="proxy-fence"):
        run(without("nvvm.fence.proxy", inserted(sending(body))), "emulator")


def test_barriers_that_take_turns_are_initialised_before_the_cluster_barrier(device: str) -> None:
    run(compiled(TURNS), device)


@pytest.mark.filterwarnings("ignore")
def test_with_the_cluster_barrier_in_front_of_them_the_emulator_objects() -> None:
    moved = with_barrier_before(r"scf\.if .*\n *nvgpu\.mbarrier\.init", inserted(TURNS))
    with pytest.raises(mt.Error, match="uninitialised-barrier"):
        run(moved, "emulator")


def test_a_received_tile_is_fenced_before_it_is_copied_on(device: str) -> None:
    run(compiled(FORWARD, ctas=3), device)


@pytest.mark.filterwarnings("ignore")
def test_without_that_fence_the_emulator_objects_to_the_copy() -> None:
    text = inserted(FORWARD, ctas=3)
    before, wait, behind = text.partition("tile.wait")
    with pytest.raises(mt.Error, match="proxy-fence"):
        run(before + wait + without("nvvm.fence.proxy", behind), "emulator")


def test_a_destination_is_cleared_before_peers_copy_into_it(device: str) -> None:
    run(compiled(sending(STORE + copy("%s"), setup=CLEAR)), device)


@pytest.mark.filterwarnings("ignore")
def test_with_the_cluster_barrier_before_that_the_emulator_objects() -> None:
    text = inserted(sending(STORE + copy("%s"), setup=CLEAR))
    moved = with_barrier_before(r"vector\.store %\w+, %\w+\[.*workgroup", text)
    with pytest.raises(mt.Error, match="in-flight"):
        run(moved, "emulator")
