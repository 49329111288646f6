# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults with tensor copies: each is one edit of a right kernel, named under every schedule.

`pipeline` loads two boxes, adds 1 to each word and stores them; `share` lets two CTAs load half of
a tile each for both.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import tile_emulator as te

SCHEDULES = ("eager", "late", "random:1", "random:2", "random:3", "explore:8")
HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
PARAMS = """.visible .entry k(.param .align 64 .b8 source[128], .param .align 64 .b8 target[128],
  .param .u64 in, .param .u64 out)
"""
REGISTERS = """
  .reg .pred %first, %more, %ready, %p<4>; .reg .b16 %mask;
  .reg .b32 %t, %at, %x, %row, %parity, %rank, %half, %peer, %peer_bar; .reg .b64 %m, %n, %q;
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0;
  mov.b64 %m, source; cvta.param.u64 %m, %m; mov.b64 %n, target; cvta.param.u64 %n, %n;
  ld.param.u64 %q, [out];
"""
LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group"
READY = "mbarrier.try_wait.parity.shared::cta.b64 %ready, [full], %parity; @!%ready bra"

PIPELINE = (
    HEADER
    + PARAMS
    + "{"
    + REGISTERS
    + f"""
  .shared .align 1024 .b8 tile[1024]; .shared .align 128 .b8 sums[512];
  .shared .align 8 .b64 full;
  mov.u32 %row, 0; mov.u32 %parity, 0;
  @%first mbarrier.init.shared::cta.b64 [full], 1;
  bar.sync 0;
NEXT:
  @!%first bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;
  {LOAD} [tile], [%m, {{0, %row}}], [full];
WAIT: {READY} WAIT;
  shl.b32 %x, %t, 2; mov.u32 %at, tile; add.u32 %at, %at, %x;
  ld.shared.b32 %x, [%at];
  add.u32 %x, %x, 1;
  shl.b32 %at, %t, 2; mov.u32 %half, sums; add.u32 %at, %at, %half;
  st.shared.b32 [%at], %x;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%first bra STORED;
  {STORE} [%n, {{0, %row}}], [sums];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
STORED: add.u32 %row, %row, 4; xor.b32 %parity, %parity, 1;
  setp.lt.u32 %more, %row, 8; @%more bra NEXT;
  ret;
}}
"""
)

SHARE = (
    HEADER
    + PARAMS
    + "{"
    + REGISTERS
    + f"""
  .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b64 full;
  mov.u32 %rank, %cluster_ctarank; mov.u32 %parity, 0; mov.u16 %mask, 3;
  @%first mbarrier.init.shared::cta.b64 [full], 1;
  @%first fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @!%first bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024;
  shl.b32 %row, %rank, 2; mov.u32 %at, tile; shl.b32 %half, %rank, 9; add.u32 %at, %at, %half;
  {LOAD}.multicast::cluster [%at], [%m, {{0, %row}}], [full], %mask;
WAIT: {READY} WAIT;
  shl.b32 %x, %t, 2; mov.u32 %at, tile; add.u32 %at, %at, %x;
  ld.shared.b32 %x, [%at]; ld.shared.b32 %row, [%at+512]; add.u32 %x, %x, %row;
  mad.lo.u32 %row, %rank, 128, %t; mul.wide.u32 %m, %row, 4; add.u64 %q, %q, %m;
  st.global.b32 [%q], %x;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ret;
}}
"""
)

SUM = (
    HEADER
    + PARAMS
    + "{"
    + REGISTERS
    + f"""
  .shared .align 1024 .b8 tile[1024];
  mov.u32 %row, 0;
  shl.b32 %x, %t, 2; mov.u32 %at, tile; add.u32 %at, %at, %x;
  st.shared.b32 [%at], %t;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%first bra DONE;
  {REDUCE} [%n, {{0, %row}}], [tile];
  {REDUCE} [%n, {{0, %row}}], [tile];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ld.global.b32 %x, [%q+64]; add.u32 %x, %x, 1; st.global.b32 [%q+640], %x;
DONE: ret;
}}
"""
)


class Tensors(NamedTuple):
    """The maps of a launch, with what tests change of them."""

    words: str = "uint32"
    rows: int = 8
    target_words: str = "uint32"
    box: tuple[int, int] = (32, 4)
    swapped: bool = False


def run(text: str, schedule: str, block: int, cluster: int, tensors: Tensors) -> Any:
    """Run a kernel on 32x8 words 0, 1, 2, ...; returns what it wrote."""
    device = te.Device(schedule=schedule, max_seconds=600)
    words = np.arange(256, dtype=np.uint32)
    source, target = device.alloc(1024), device.alloc(1024)
    device.write(source, words)
    maps = [
        te.encode_tiled(kind, 2, at, (32, rows), (128,), tensors.box, swizzle="128B")
        for kind, at, rows in (
            (tensors.words, source, tensors.rows), (tensors.target_words, target, 8)
        )
    ]  # fmt: skip
    pointers = [source.to_bytes(8, "little"), target.to_bytes(8, "little")]
    device.launch(parsed(text), "k", cluster, block, cluster, 0, [*maps, *pointers])
    return np.frombuffer(device.read(target, 1024), np.uint32)


parsed = cache(te.parse)
KERNELS = {"pipeline": (PIPELINE, 128, 1), "share": (SHARE, 128, 2), "sum": (SUM, 128, 1)}


def wanted(name: str) -> list[int]:
    """Return what the kernel must write."""
    if name == "pipeline":
        return [i + 1 for i in range(256)]
    if name == "share":
        rows = [[32 * row + (column ^ (row % 8) * 4) for column in range(32)] for row in range(8)]
        sums = [a + b for low, high in zip(rows[:4], rows[4:], strict=True)
                for a, b in zip(low, high, strict=True)]  # fmt: skip
        return sums + sums
    result = [0] * 256
    for i in range(128):
        result[32 * (i // 32) + (i % 32 ^ (i // 32) * 4)] = 2 * i
    result[160] = result[16] + 1
    return result


class Fault(NamedTuple):
    kernel: str
    kind: str
    name: str
    old: str
    new: str = ""
    tensors: Tensors = Tensors()


P, S, R = "pipeline", "share", "sum"
ARM = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;"
TILE_LOAD = LOAD + " [tile], [%m, {0, %row}], [full];"
FENCE = "  fence.proxy.async.shared::cta;\n"
SUM_STORE = STORE + " [%n, {0, %row}], [sums];"
WAIT_READ = "  cp.async.bulk.wait_group.read 0;\n"
SYNC = "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
MULTICAST = LOAD + ".multicast::cluster [%at], [%m, {0, %row}], [full], %mask;"

FAULTS = [
    # Places.
    Fault(P, "address", "the box begins inside of 16 bytes",
          TILE_LOAD, TILE_LOAD.replace("{0,", "{-2,")),
    Fault(P, "address", "the box is stored to inside of 16 bytes",
          SUM_STORE, SUM_STORE.replace("{0,", "{1,")),
    # Bytes and phases.
    Fault(P, "arrivals", "armed with too few bytes", ARM, ARM.replace("512", "256")),
    Fault(P, "deadlock", "armed with too many bytes", ARM, ARM.replace("512", "528")),
    Fault(P, "in-flight", "not armed", ARM, "mbarrier.arrive.shared::cta.b64 _, [full];"),
    Fault(P, "deadlock", "the box is smaller than what is armed", "x", "x",
          Tensors(box=(32, 2))),
    Fault(P, "arrivals", "the box is larger than what is armed", "x", "x",
          Tensors(box=(32, 8))),
    Fault(P, "in-flight", "no wait", f"WAIT: {READY} WAIT;", "WAIT:"),
    Fault(P, "in-flight", "the parity does not turn",
          " xor.b32 %parity, %parity, 1;", ""),
    Fault(P, "in-flight", "the first wait is for the other parity",
          "mov.u32 %parity, 0;", "mov.u32 %parity, 1;"),
    Fault(P, "uninitialised-barrier", "no barrier after the init",
          "[full], 1;\n  bar.sync 0;", "[full], 1;"),
    Fault(P, "uninitialised-barrier", "another barrier than was initialised",
          TILE_LOAD, TILE_LOAD.replace("[full]", "[tile+768]")),
    # Order of accesses and copies.
    Fault(P, "in-flight", "the next box overwrites what others read", FENCE,
          f"  @%first {ARM} @%first {TILE_LOAD}\n{FENCE}"),
    Fault(P, "proxy-fence", "no proxy fence before the store", FENCE),
    Fault(P, "in-flight", "no barrier before the store",
          "  bar.sync 0;\n  @!%first bra STORED;", "  @!%first bra STORED;"),
    Fault(P, "in-flight", "the source is overwritten before it is read", WAIT_READ),
    Fault(P, "in-flight", "no group is committed", "  cp.async.bulk.commit_group;\n"),
    Fault(P, "in-flight", "the wait leaves the group", WAIT_READ, WAIT_READ.replace("0;", "1;")),
    Fault(P, "early-exit", "the last store may be reading at the end", WAIT_READ,
          "  setp.eq.u32 %more, %row, 0; @%more cp.async.bulk.wait_group.read 0;\n"),
    Fault(P, "in-flight", "the store's source is still being loaded", SUM_STORE,
          f"{ARM} {LOAD} [tile], [%m, {{0, 0}}], [full]; " + SUM_STORE.replace("sums", "tile")),
    Fault(P, "in-flight", "two loads into one tile", TILE_LOAD,
          f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full], 512; {TILE_LOAD} {TILE_LOAD}"),
    Fault(P, "in-flight", "a word of the tile is written while it is loaded", TILE_LOAD,
          f"{TILE_LOAD} st.shared.b32 [tile+256], 0;"),
    Fault(P, "proxy-fence", "the tile is cleared without a proxy fence before the load", TILE_LOAD,
          f"st.shared.b32 [tile+256], 0; {TILE_LOAD}"),
    Fault(P, "in-flight", "global memory is read after a wait for reads", WAIT_READ,
          WAIT_READ + "  ld.global.b32 %x, [%q];\n"),
    Fault(P, "in-flight", "global memory is written while a box goes there", WAIT_READ,
          WAIT_READ + "  setp.eq.u32 %more, %row, 0; @%more st.global.b32 [%q+508], %x;\n"),
    Fault(P, "in-flight", "a box is loaded that may still be stored", WAIT_READ,
          f"{WAIT_READ}  setp.eq.u32 %more, %row, 0; @!%more bra STORED;\n"
          f"  {ARM} {LOAD} [tile], [%n, {{0, 2}}], [full];\n"),
    Fault(P, "uninitialised-read", "what is stored was never written", SUM_STORE,
          SUM_STORE.replace("[sums]", "[tile+512]")),
    # Addresses and maps.
    Fault(P, "address", "the tile is not aligned to 128 bytes", TILE_LOAD,
          TILE_LOAD.replace("[tile]", "[tile+64]")),
    Fault(P, "address", "the source is not aligned to 128 bytes", SUM_STORE,
          SUM_STORE.replace("[sums]", "[sums+16]")),
    Fault(P, "address", "the map is not aligned to 64 bytes", TILE_LOAD,
          TILE_LOAD.replace("[%m,", "[%m+32,")),
    Fault(P, "address", "a pointer in the place of a map", TILE_LOAD,
          TILE_LOAD.replace("[%m,", "[%q,")),
    Fault(P, "address", "nothing in the place of a map", TILE_LOAD,
          TILE_LOAD.replace("[%m,", "[%q+4096,")),
    Fault(P, "address", "a map in shared memory", TILE_LOAD,
          "mov.b64 %m, tile; cvta.shared.u64 %m, %m; " + TILE_LOAD),
    Fault(P, "address", "the map of another tensor, with more rows", TILE_LOAD,
          TILE_LOAD.replace("%row", "4096"), Tensors(rows=65536)),
    Fault(P, "address", "more dimensions than the map has", TILE_LOAD,
          TILE_LOAD.replace("2d", "3d").replace("{0,", "{0, 0,")),
    Fault(P, "address", "the box is beyond shared memory", TILE_LOAD,
          TILE_LOAD.replace("[tile]", "[tile+1280]")),
    Fault(P, "address", "the box is larger than shared memory", "x", "x",
          Tensors(box=(32, 256))),
    Fault(P, "address", "the box goes over the barrier", TILE_LOAD,
          TILE_LOAD.replace("[tile]", "[tile+1152]")),
    Fault(P, "address", "a prefetch of no map", TILE_LOAD, f"prefetch.tensormap [%q]; {TILE_LOAD}"),
    Fault(P, "address", "a prefetch of a box with another rank", TILE_LOAD,
          f"cp.async.bulk.prefetch.tensor.1d.L2.global [%m, {{0}}]; {TILE_LOAD}"),
    # Multicast.
    Fault(S, "deadlock", "the peer is not in the mask", "mov.u16 %mask, 3;", "mov.u16 %mask, 1;"),
    Fault(S, "deadlock", "only rank 0 is in the mask of both",
          "mov.u16 %mask, 3;", "cvt.u16.u32 %mask, %rank; add.u16 %mask, %mask, 1;"),
    Fault(S, "address", "the mask has a rank that there is not",
          "mov.u16 %mask, 3;", "mov.u16 %mask, 7;"),
    Fault(S, "arrivals", "the receiver expects its own half only", "[full], 1024;", "[full], 512;"),
    Fault(S, "deadlock", "the receiver does not arm its barrier",
          "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024;\n",
          "  setp.eq.u32 %p0, %rank, 0;\n"
          "  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024;\n"),
    Fault(S, "uninitialised-barrier", "the peer's barrier has another place", MULTICAST,
          MULTICAST.replace("[full]", "[tile+1016]")),
    Fault(S, "not-started", "no cluster barrier at the start",
          f".release.cluster;\n{SYNC}", ".release.cluster;\n  bar.sync 0;\n"),
    Fault(S, "early-exit", "the receiver leaves without a wait", f"WAIT: {READY} WAIT;",
          f"WAIT: setp.eq.u32 %p0, %rank, 1; @%p0 exit;\nLATER: {READY} LATER;"),
    Fault(S, "in-flight", "both halves go to one place", "shl.b32 %half, %rank, 9;",
          "mov.u32 %half, 0;"),
    Fault(S, "in-flight", "a peer's half is read without a wait", f"WAIT: {READY} WAIT;", "WAIT:"),
    Fault(S, "address", "data in one CTA, barrier in another", MULTICAST,
          "mapa.shared::cluster.u32 %peer, %at, 1; mapa.shared::cluster.u32 %peer_bar, %at, 0;\n"
          f"  {LOAD} [%peer], [%m, {{0, %row}}], [%peer_bar];"),
    Fault(S, "address", "the local form with a mapped address", MULTICAST,
          "mapa.shared::cluster.u32 %peer, %at, 1;\n"
          + LOAD.replace("cluster.global", "cta.global") + " [%peer], [%m, {0, %row}], [full];"),
    # Reductions.
    Fault(R, "in-flight", "global memory is read before the group is over",
          "  cp.async.bulk.wait_group 0;\n", WAIT_READ),
    Fault(R, "in-flight", "a store among reductions reads back too early",
          "wait_group 0;", "wait_group 1;"),
    Fault(R, "proxy-fence", "the summands are not fenced", FENCE),
    Fault(R, "in-flight", "the summands are not all there", "  bar.sync 0;\n"),
    Fault(R, "address", "a reduction that the type lacks", "x", "x",
          Tensors(target_words="tfloat32")),
]  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", KERNELS)
def test_a_correct_kernel_is_not_reported(name: str, schedule: str) -> None:
    text, block, cluster = KERNELS[name]
    assert run(text, schedule, block, cluster, Tensors()).tolist() == wanted(name)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kernel}: {fault.name}")
def test_a_fault_is_reported_under_its_kind(fault: Fault, schedule: str) -> None:
    text, block, cluster = KERNELS[fault.kernel]
    if fault.old != "x":
        assert text.count(fault.old) == 1, text.count(fault.old)
        text = text.replace(fault.old, fault.new)
    with pytest.raises(te.EmulationError) as caught:
        run(text, schedule, block, cluster, fault.tensors)
    assert caught.value.kind == fault.kind, str(caught.value)
