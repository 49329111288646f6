# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies between drawn layouts, and programs that use swizzled tiles, run byte for byte.

They run on the emulator and, where there is a GPU that can, on it, too. `--cases N` draws N new
ones in the place of the same few of every run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "analyze"))

import layout_cases
import layout_oracle as oracle

import mlir_tile as mt
from mlir_tile.runtime.devices import device_info

pytest.importorskip("tile_emulator")

BATCH = 12
CASES = 120
DEVICES = ["emulator", *(["cuda"] if device_info().usable else [])]
WG = layout_cases.WG


def up(number: int) -> int:
    """Round up to a line of shared memory."""
    return -(-number // 128) * 128


def span_bytes(side: oracle.Side, bits: int) -> int:
    return -(-side.span() * bits // 8)


def view_text(side: oracle.Side, case: oracle.Case, buffer: str, total: int, begin: int, n: int):
    """See part of a buffer of bytes as the buffer of one side, and take its region."""
    name = f"%{buffer}{n}"
    flat = f"memref<{side.span()}x{case.element}, {WG}>"
    typed = layout_cases.buffer_type(side, case.element)
    line, value, result = layout_cases.slice_text(side, case.element, name)
    text = (
        f"  {name}_at = arith.constant {begin} : index\n"
        f"  {name}_flat = memref.view %{buffer}[{name}_at][] : memref<{total}xi8, {WG}> to {flat}\n"
        f"  {name} = tile.view {name}_flat[0] : {flat} to {typed}\n{line}"
    )
    return text, value, result


def program_text(
    cases: list[oracle.Case], stores: bool = False
) -> tuple[str, list[int], list[int]]:
    """Write a program that fills the sources, copies every case and returns the destinations.

    One thread issues bulk copies, or a warp stores.
    """
    sends = "%is_sender" if stores else "%sends"
    issue = ' issue(warp) {variant = "st_async"}' if stores else ""
    src_at, dst_at = [0], [0]
    for case in cases:
        src_at.append(src_at[-1] + up(span_bytes(case.src, case.bits)))
        dst_at.append(dst_at[-1] + up(span_bytes(case.dst, case.bits)))
    src_total, dst_total = src_at[-1], dst_at[-1]
    group = f"!nvgpu.mbarrier.group<memorySpace = {WG}, num_barriers = {len(cases)}>"
    copies, waits = "", ""
    for n, case in enumerate(cases):
        src, src_value, src_type = view_text(case.src, case, "src", src_total, src_at[n], n)
        dst, dst_value, dst_type = view_text(case.dst, case, "dst", dst_total, dst_at[n], n)
        tile_bytes = int(np.prod(case.src.size)) * case.bits // 8
        copies += (
            f"{src}{dst}  %bar{n} = arith.constant {n} : index\n  scf.if {sends} {{\n"
            f"    tile.copy_async {src_value} to {dst_value} cta(%peer) mbarrier(%bars[%bar{n}])"
            f"{issue}\n        : {src_type} to {dst_type}, !bars\n  }}\n"
        )
        waits += (
            f"  %bytes{n} = arith.constant {tile_bytes} : index\n"
            f"  scf.if %receives {{\n"
            f"    scf.if %first {{\n"
            f"      nvgpu.mbarrier.arrive.expect_tx %bars[%bar{n}], %bytes{n} : !bars\n    }}\n"
            f"    nvgpu.mbarrier.try_wait.parity %bars[%bar{n}], %phase, %ticks : !bars\n  }}\n"
        )
    inits = "".join(
        f"    %init{n} = arith.constant {n} : index\n"
        f"    nvgpu.mbarrier.init %bars[%init{n}], %c1 : !bars\n"
        for n in range(len(cases))
    )
    text = f"""
!bars = {group}
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
gpu.func @copies(%a: memref<{src_total}xi8>, %b: memref<{dst_total}xi8>, %c: memref<{dst_total}xi8>)
    workgroup(%src: memref<{src_total}xi8, {WG}> {{llvm.align = 128 : i64}},
              %dst: memref<{dst_total}xi8, {WG}> {{llvm.align = 128 : i64}})
    kernel attributes {{known_block_size = array<i32: 32, 1, 1>,
                       known_cluster_size = array<i32: 2, 1, 1>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %src_total = arith.constant {src_total} : index
  %dst_total = arith.constant {dst_total} : index
  %ticks = arith.constant 10000000 : index
  %phase = arith.constant false
  %peer = arith.constant 1 : i32
  %thread = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %begin = arith.muli %thread, %c16 : index
  %first = arith.cmpi eq, %thread, %c0 : index
  %is_sender = arith.cmpi eq, %rank, %c0 : index
  %receives = arith.cmpi eq, %rank, %c1 : index
  %sends = arith.andi %first, %is_sender : i1
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %first {{
{inits}    nvvm.fence.mbarrier.init
  }}
  scf.for %i = %begin to %src_total step %c512 {{
    %v = vector.load %a[%i] {{alignment = 16 : i64}} : memref<{src_total}xi8>, vector<16xi8>
    vector.store %v, %src[%i] {{alignment = 16 : i64}} : memref<{src_total}xi8, {WG}>, vector<16xi8>
  }}
  scf.for %i = %begin to %dst_total step %c512 {{
    %v = vector.load %b[%i] {{alignment = 16 : i64}} : memref<{dst_total}xi8>, vector<16xi8>
    vector.store %v, %dst[%i] {{alignment = 16 : i64}} : memref<{dst_total}xi8, {WG}>, vector<16xi8>
  }}
  nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
  gpu.barrier
  nvvm.cluster.arrive
  nvvm.cluster.wait
{copies}{waits}  scf.if %receives {{
    scf.for %i = %begin to %dst_total step %c512 {{
      %v = vector.load %dst[%i] {{alignment = 16 : i64}}
          : memref<{dst_total}xi8, {WG}>, vector<16xi8>
      vector.store %v, %c[%i] {{alignment = 16 : i64}} : memref<{dst_total}xi8>, vector<16xi8>
    }}
  }}
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}}
}}
{host_text("copies", [src_total, dst_total, dst_total], "i8", 32)}
}}
"""
    return text, src_at, dst_at


def host_text(kernel: str, extents: list[int | str], element: str, threads: int) -> str:
    """Write a host function that hands its arguments through device memory to `kernel`."""
    types = [f"memref<{extent}x{element}>" for extent in extents]
    arguments = ", ".join(f"%h{n}: {type_}" for n, type_ in enumerate(types))
    lines = ["    %t0 = gpu.wait async"]
    token = 0

    def step(text: str) -> None:
        nonlocal token
        lines.append("    " + text.replace("NEXT", f"%t{token + 1}").replace("LAST", f"%t{token}"))
        token += 1

    for n, type_ in enumerate(types):
        step(f"%d{n}, NEXT = gpu.alloc async [LAST] () : {type_}")
    for n, type_ in enumerate(types):
        step(f"NEXT = gpu.memcpy async [LAST] %d{n}, %h{n} : {type_}, {type_}")
    given = ", ".join(f"%d{n} : {type_}" for n, type_ in enumerate(types))
    step(
        f"NEXT = gpu.launch_func async [LAST] @kernels::@{kernel} clusters in (%c2, %c1, %c1) "
        f"blocks in (%c2, %c1, %c1) threads in (%threads, %c1, %c1) args({given})"
    )
    for n, type_ in enumerate(types):
        step(f"NEXT = gpu.memcpy async [LAST] %h{n}, %d{n} : {type_}, {type_}")
    for n, type_ in enumerate(types):
        step(f"NEXT = gpu.dealloc async [LAST] %d{n} : {type_}")
    body = "\n".join(lines)
    return f"""func.func @main({arguments}) attributes {{llvm.emit_c_interface}} {{
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %threads = arith.constant {threads} : index
{body}
    gpu.wait [%t{token}]
    return
}}"""


def expected_bytes(case: oracle.Case, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return `dst` after the copy, element by element, in bits."""
    result = np.unpackbits(dst, bitorder="little")
    source = np.unpackbits(src, bitorder="little")
    src_places, dst_places = case.src.places() * case.bits, case.dst.places() * case.bits
    for bit in range(case.bits):
        result[dst_places + bit] = source[src_places + bit]
    return np.packbits(result, bitorder="little")


def check_on(device: str, cases: list[oracle.Case], stores: bool = False) -> None:
    text, src_at, dst_at = program_text(cases, stores)
    random = np.random.default_rng(0)
    src = random.integers(0, 256, src_at[-1], np.uint8)
    before = random.integers(0, 256, dst_at[-1], np.uint8)
    after = np.zeros_like(before)
    with mt.context():
        program = mt.compile(mt.parse(text))
    program.invoke(
        "main", src.view(np.int8), before.view(np.int8), after.view(np.int8), device=device
    )
    for n, case in enumerate(cases):
        mine = slice(dst_at[n], dst_at[n + 1])
        want = expected_bytes(case, src[src_at[n] : src_at[n + 1]], before[mine])
        np.testing.assert_array_equal(after[mine], want, err_msg=str(case))


@pytest.mark.parametrize("device", DEVICES)
def test_drawn_copies_move_the_right_bits(device: str, pytestconfig: pytest.Config) -> None:
    asked = pytestconfig.getoption("--cases")
    cases = asked or CASES
    run = 0

    @settings(
        max_examples=cases // BATCH,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=asked is None,
        database=None,
    )
    @given(st.lists(layout_cases.side_pairs(), min_size=2 * BATCH, max_size=2 * BATCH))
    def check(drawn: list[oracle.Case]) -> None:
        nonlocal run
        plans = layout_cases.analyze(drawn)
        legal = [case for case, (plan, _) in zip(drawn, plans, strict=True) if plan is not None]
        if legal[:BATCH]:
            check_on(device, legal[:BATCH])
            run += len(legal[:BATCH])

    check()
    assert run >= cases // 2


def side_of(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> oracle.Side:
    dimensions = tuple(((e, s),) for e, s in zip(shape, strides, strict=True))
    return oracle.Side(dimensions, offset, None, (0,) * len(shape), shape)


def stored_cases() -> list[oracle.Case]:
    """Return copies of which the source is read in smaller pieces than are stored."""
    padded = oracle.Case(side_of((64, 64), (65, 1)), side_of((64, 64), (64, 1)), "f16", 16)
    late = oracle.Case(side_of((8, 64), (64, 1), 1), side_of((8, 64), (64, 1)), "f16", 16)
    odd = oracle.Case(side_of((4, 36), (37, 1), 1), side_of((4, 36), (36, 1)), "i8", 8)
    # Four bytes that lie side by side in the destination come from two modes of the source.
    two_modes = oracle.Case(side_of((2, 2, 8), (64, 3, 7)), side_of((2, 2, 8), (2, 1, 4)), "i8", 8)
    # Sixteen of four modes, each of two.
    four_modes = oracle.Case(
        side_of((2, 2, 2, 2, 3), (97, 3, 31, 11, 200)),
        side_of((2, 2, 2, 2, 3), (8, 4, 2, 1, 16)),
        "i8",
        8,
    )
    swizzled = oracle.Case(
        oracle.Side((((16, 64),), ((64, 1),)), 0, (3, 3, 3), (0, 0), (16, 64)),
        side_of((16, 64), (1, 16)),
        "f16",
        16,
    )
    return [padded, late, odd, two_modes, four_modes, swizzled]


@pytest.mark.parametrize("device", DEVICES)
def test_stores_put_together_what_lies_apart_in_the_source(device: str) -> None:
    check_on(device, stored_cases(), stores=True)


@pytest.mark.parametrize("device", DEVICES)
def test_drawn_stores_move_the_right_bits(device: str, pytestconfig: pytest.Config) -> None:
    asked = pytestconfig.getoption("--cases")
    cases = asked or CASES // 2
    run = 0

    @settings(
        max_examples=cases // BATCH,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=asked is None,
        database=None,
    )
    @given(st.lists(layout_cases.side_pairs(), min_size=2 * BATCH, max_size=2 * BATCH))
    def check(drawn: list[oracle.Case]) -> None:
        nonlocal run
        plans = layout_cases.analyze(drawn, stores=True)
        legal = [case for case, (plan, _) in zip(drawn, plans, strict=True) if plan is not None]
        if legal[:BATCH]:
            check_on(device, legal[:BATCH], stores=True)
            run += len(legal[:BATCH])

    check()
    assert run >= cases // 2


SWIZZLED = "#tile.layout<(64, 64) : (64, 1), swizzle = <3, 3, 3>>"
PLAIN = "#tile.layout<(64, 64) : (64, 1)>"
PANELS = "#tile.layout<(64, (2, 32)) : (32, (2048, 1))>"


def fill_and_read(src: str, dst: str, read: str) -> str:
    """Write a program that fills one tile by vectors, copies it and reads it by elements."""
    src_type, dst_type = (f"memref<64x64xf16, {layout}, {WG}>" for layout in (src, dst))
    return f"""
!bars = !nvgpu.mbarrier.group<memorySpace = {WG}, num_barriers = 1>
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
gpu.func @fill(%a: memref<64x64xf16>, %b: memref<64x64xf16>)
    workgroup(%src: {src_type}, %dst: {dst_type})
    kernel attributes {{known_block_size = array<i32: 64, 1, 1>,
                       known_cluster_size = array<i32: 2, 1, 1>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %bytes = arith.constant 8192 : index
  %ticks = arith.constant 10000000 : index
  %phase = arith.constant false
  %peer = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f16
  %row = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %first = arith.cmpi eq, %row, %c0 : index
  %is_sender = arith.cmpi eq, %rank, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %first {{
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    nvvm.fence.mbarrier.init
  }}
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %is_sender {{
    scf.for %j = %c0 to %c64 step %c8 {{
      %v = vector.load %a[%row, %j] {{alignment = 16 : i64}} : memref<64x64xf16>, vector<8xf16>
      vector.transfer_write %v, %src[%row, %j] {{in_bounds = [true]}} : vector<8xf16>, {src_type}
    }}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    gpu.barrier
    scf.if %first {{
      tile.copy_async %src to %dst cta(%peer) mbarrier(%bars[%c0])
          : {src_type} to {dst_type}, !bars
    }}
  }} else {{
    scf.if %first {{ nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars }}
    nvgpu.mbarrier.try_wait.parity %bars[%c0], %phase, %ticks : !bars
{read.format(type=dst_type)}
  }}
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}}
}}
{host_text("fill", ["64x64", "64x64"], "f16", 64)}
}}
"""


BY_ELEMENTS = """    scf.for %j = %c0 to %c64 step %c1 {{
      %v = memref.load %dst[%row, %j] : {type}
      memref.store %v, %b[%row, %j] : memref<64x64xf16>
    }}"""
BY_COPY = """    scf.if %first {{ memref.copy %dst, %b : {type} to memref<64x64xf16> }}"""
BY_VECTORS = """    scf.for %j = %c0 to %c64 step %c8 {{
      %v = vector.transfer_read %dst[%row, %j], %zero {{in_bounds = [true]}} : {type}, vector<8xf16>
      vector.store %v, %b[%row, %j] {{alignment = 16 : i64}} : memref<64x64xf16>, vector<8xf16>
    }}"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("src", "dst", "read"),
    [
        (SWIZZLED, SWIZZLED, BY_ELEMENTS),
        (SWIZZLED, PLAIN, BY_VECTORS),
        (PLAIN, SWIZZLED, BY_COPY),
        (PANELS, SWIZZLED, BY_VECTORS),
    ],
    ids=["alike", "to_plain", "from_plain", "from_panels"],
)
def test_a_tile_filled_by_vectors_reads_the_same_on_the_other_side(
    device: str, src: str, dst: str, read: str
) -> None:
    given = np.arange(64 * 64).reshape(64, 64).astype(np.float16)
    got = np.zeros_like(given)
    with mt.context():
        program = mt.compile(mt.parse(fill_and_read(src, dst, read)))
    program.invoke("main", given, got, device=device)
    np.testing.assert_array_equal(got, given)
