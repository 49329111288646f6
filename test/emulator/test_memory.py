# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State spaces, atomics, fences, and copies other than the tile copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import tile_emulator as te

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
SCHEDULES = ["eager", "late", "random:1", "random:2", "random:3"]


def kernel(
    body: str, before: str = "", params: str = ".param .u64 out, .param .u64 in"
) -> te.Module:
    return te.parse(f"""{HEADER}{before}
.visible .entry k({params}) {{
  .reg .b16 %h<8>; .reg .b32 %t, %d, %r<16>, %f<8>; .reg .pred %p<8>; .reg .b64 %o, %i, %l<8>;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %i, [in];
{body}
  ret;
}}""")


def run(body: str, source: Any = None, before: str = "", size: int = 64, **options: Any) -> Any:
    out = np.zeros(size, dtype=np.uint32)
    source = np.arange(size, dtype=np.uint32) if source is None else source
    options.setdefault("block", 32)
    te.emulate(kernel(body, before), "k", [out, source], **options)
    return out


STORE = "mad.wide.u32 %l0, %t, 4, %o; st.global.u32 [%l0], %d;"


def test_vectors_and_narrow_types() -> None:
    body = (
        """
  mad.wide.u32 %l1, %t, 8, %i;
  ld.global.v2.u32 {%r0, %r1}, [%l1];
  ld.global.s8 %r2, [%l1+4];
  ld.global.u16 %r3, [%l1+6];
  add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %d, %r0, %r3;
"""
        + STORE
    )
    source = np.random.default_rng(1).integers(0, 2**32, 64, dtype=np.uint32)
    got = run(body, source)[:32]
    pairs = source.reshape(32, 2)
    narrow = pairs[:, 1].copy().view(np.int8)[::4].astype(np.int64)
    upper = pairs[:, 1] >> 16
    want = (pairs.sum(axis=1, dtype=np.int64) + narrow + upper) & 0xFFFFFFFF
    np.testing.assert_array_equal(got, want.astype(np.uint32))


def test_one_generic_load_may_reach_several_spaces() -> None:
    body = (
        """
  .shared .align 4 .b32 word[32];
  .local .align 4 .b8 stack[16];
  mov.u32 %r0, word; mad.lo.u32 %r0, %t, 4, %r0; add.u32 %r1, %t, 100;
  st.shared.u32 [%r0], %r1;
  st.local.u32 [stack+4], %t;
  cvt.u64.u32 %l1, %r0; cvta.shared.u64 %l1, %l1;
  mov.u64 %l2, stack; cvta.local.u64 %l2, %l2; add.u64 %l2, %l2, 4;
  and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 0; selp.b64 %l3, %l1, %l2, %p0;
  ld.u32 %d, [%l3];
"""
        + STORE
    )
    assert run(body)[:32].tolist() == [i + 100 if i % 2 == 0 else i for i in range(32)]


def test_globals_and_constants_have_their_initial_values() -> None:
    before = """
.global .align 4 .u32 numbers[4] = {5, 6, 7};
.global .align 8 .u64 pointer = numbers;
.const .align 4 .f32 scale = 0f3F800000;
"""
    body = (
        """
  mov.u64 %l1, pointer; ld.global.u64 %l2, [%l1]; ld.global.u32 %r0, [%l2+8];
  ld.const.b32 %r1, [scale]; ld.global.u32 %r2, [numbers+12];
  add.u32 %d, %r0, %r1; add.u32 %d, %d, %r2;
"""
        + STORE
    )
    assert set(run(body, before=before)[:32]) == {7 + 0x3F800000}


def test_parameters_may_be_structs_read_in_parts() -> None:
    module = kernel(
        "ld.param.u32 %d, [s+4]; ld.param.v2.u32 {%r0, %r1}, [s+8]; add.u32 %d, %d, %r1;" + STORE,
        params=".param .u64 out, .param .u64 in, .param .align 8 .b8 s[16]",
    )
    out = np.zeros(32, dtype=np.uint32)
    data = np.array([1, 20, 300, 4000], dtype=np.uint32).tobytes()
    te.emulate(module, "k", [out, out.copy(), data], block=32)
    assert set(out) == {4020}


@pytest.mark.parametrize("space", ["global", "shared", ""])
@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("add.u32", 3, 96),
        ("max.s32", "%t", 31),
        ("or.b32", "%t", 31),
        ("inc.u32", 9, 2),
        ("exch.b32", 8, 8),
    ],
)
def test_atomics_of_a_warp_on_one_word(space: str, name: str, value: Any, want: int) -> None:
    where = {"global": "[%l1]", "shared": "[%r0]", "": "[%l1]"}[space]
    dot = f".{space}" if space else ""
    load = "ld.shared.u32 %d, [%r0];" if space == "shared" else "ld.global.u32 %d, [%l1];"
    body = (
        f"""
  .shared .align 4 .b32 word;
  mov.u32 %r0, word; setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%r0], 0;
  add.u64 %l1, %o, 200; bar.sync 0;
  atom{dot}.{name} %r5, {where}, {value};
  bar.sync 0; {load}
"""
        + STORE
    )
    assert set(run(body)[:32]) == {want}


def test_cas_builds_a_sum_under_contention() -> None:
    body = """
  add.u64 %l1, %o, 200;
AGAIN:
  ld.volatile.global.u32 %r0, [%l1];
  add.u32 %r1, %r0, %t;
  atom.global.cas.b32 %r2, [%l1], %r0, %r1;
  setp.ne.u32 %p0, %r2, %r0;
  @%p0 bra AGAIN;
"""
    assert run(body, block=64)[50] == sum(range(64))


def test_float_and_packed_atomics() -> None:
    body = "add.u64 %l1, %o, 200; mov.b32 %r1, 0f3F000000; red.global.add.f32 [%l1], %r1;"
    assert run(body)[50:51].view(np.float32)[0] == 16.0
    body = "add.u64 %l1, %o, 200; mov.b32 %r1, 0x3C003800; red.global.add.noftz.f16x2 [%l1], %r1;"
    assert run(body)[50:51].view(np.float16).tolist() == [16.0, 32.0]


MESSAGE = """
  .shared .align 4 .b32 data; .shared .align 4 .b32 flag;
  setp.lt.u32 %p0, %t, 32;
  @!%p0 bra READER;
  setp.eq.u32 %p1, %t, 0;
  @!%p1 bra DONE;
  st.shared.u32 [data], 42;
  RELEASE
  bra DONE;
READER:
  ACQUIRE
  setp.eq.u32 %p2, %r0, 0;
  @%p2 bra READER;
  FENCE
  ld.shared.u32 %d, [data];
"""
FLAG_FIRST = "setp.eq.u32 %p3, %t, 0; @%p3 st.shared.u32 [flag], 0; bar.sync 0;"


ACQUIRE = "ld.acquire.cta.shared.u32 %r0, [flag];"
RELAXED = "ld.relaxed.cta.shared.u32 %r0, [flag];"


def message(release: str, acquire: str, fence: str = "") -> str:
    text = MESSAGE.replace("setp.lt.u32 %p0, %t, 32;", FLAG_FIRST + "setp.lt.u32 %p0, %t, 32;")
    text = text.replace("RELEASE", release).replace("ACQUIRE", acquire).replace("FENCE", fence)
    return text + "DONE:\n" + STORE


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("release", "acquire", "fence", "orders"),
    [
        (
            "st.release.cta.shared.u32 [flag], 1;",
            ACQUIRE,
            "",
            True,
        ),
        (
            "fence.acq_rel.cta; st.relaxed.cta.shared.u32 [flag], 1;",
            RELAXED,
            "fence.acq_rel.cta;",
            True,
        ),
        (
            "membar.cta; st.volatile.shared.u32 [flag], 1;",
            "ld.volatile.shared.u32 %r0, [flag];",
            "membar.cta;",
            True,
        ),
        (
            "st.relaxed.cta.shared.u32 [flag], 1;",
            ACQUIRE,
            "",
            False,
        ),
        (
            "st.release.cta.shared.u32 [flag], 1;",
            RELAXED,
            "",
            False,
        ),
    ],
)
def test_flags_order_data_only_with_release_and_acquire(
    release: str, acquire: str, fence: str, orders: bool, schedule: str
) -> None:
    body = message(release, acquire, fence)
    if orders:
        assert run(body, block=64, schedule=schedule)[32:].tolist() == [42] * 32
        return
    with pytest.raises(te.EmulationError) as caught:
        run(body, block=64, schedule=schedule)
    assert caught.value.kind == "race"


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
def test_many_volatile_loads_are_no_deadlock(schedule: str) -> None:
    body = (
        """
  .shared .align 4 .b32 words[64]; .shared .align 8 .b64 bar;
  mov.u32 %r0, words; mov.u32 %r1, bar; mad.lo.u32 %r2, %t, 4, %r0;
  st.shared.u32 [%r2], %t; setp.eq.u32 %p0, %t, 0; setp.lt.u32 %p1, %t, 32;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
  bar.sync 0;
  @%p1 bra WAIT;
  mov.u32 %r3, 0;
SUM:
  and.b32 %r4, %r3, 63; mad.lo.u32 %r4, %r4, 4, %r0;
  ld.volatile.shared.u32 %r5, [%r4];
  add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 6000;
  @%p2 bra SUM;
  setp.eq.u32 %p3, %t, 32;
  @%p3 mbarrier.arrive.shared::cta.b64 _, [%r1];
  bra END;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
  @!%p2 bra WAIT;
END:
  mov.u32 %d, 1;
"""
        + STORE
    )
    assert set(run(body, block=64, schedule=schedule)) == {1}


def test_a_flag_that_nobody_sets_is_a_deadlock() -> None:
    body = "AGAIN: ld.volatile.global.u32 %r0, [%i]; setp.ne.u32 %p0, %r0, 9; @%p0 bra AGAIN;"
    with pytest.raises(te.EmulationError) as caught:
        run(body)
    assert caught.value.kind == "deadlock"


BULK = """
  .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;
  mov.u32 %r0, tile; mov.u32 %r1, bar; setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
  bar.sync 0;
  @!%p0 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%i], 256, [%r1];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra WAIT;
  mad.lo.u32 %r2, %t, 8, %r0;
  ld.shared.v2.u32 {%r3, %r4}, [%r2];
  add.u32 %r3, %r3, 1; add.u32 %r4, %r4, 1;
  st.shared.v2.u32 [%r2], {%r3, %r4};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p0 bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%o], [%r0], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bulk_copies_from_and_to_global_memory(schedule: str) -> None:
    assert run(BULK, schedule=schedule).tolist() == list(range(1, 65))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("fence.proxy.async.shared::cta;", "", "proxy-fence"),
        ("cp.async.bulk.wait_group 0;", "", "early-exit"),
        ("wait_group 0;", "wait_group 0; st.shared.u32 [%r0], 1;", None),
        ("wait_group 0;", "wait_group 1; st.shared.u32 [%r0], 1;", "in-flight"),
    ],
)
def test_bulk_groups_guard_their_source(old: str, new: str, kind: str, schedule: str) -> None:
    body = BULK.replace(old, new)
    if kind is None:
        assert run(body, schedule=schedule).tolist() == list(range(1, 65))
        return
    with pytest.raises(te.EmulationError) as caught:
        run(body, schedule=schedule)
    assert caught.value.kind == kind, str(caught.value)


ORDINARY = (
    """
  .shared .align 16 .b8 tile[512];
  mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 8, %r0; mad.wide.u32 %l1, %t, 8, %i;
  cp.async.ca.shared.global [%r0], [%l1], 8;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.u32 %d, [%r0+4];
"""
    + STORE
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ordinary_cp_async_is_complete_after_its_group(schedule: str) -> None:
    assert run(ORDINARY, schedule=schedule)[:32].tolist() == list(range(1, 64, 2))
    with pytest.raises(te.EmulationError) as caught:
        run(ORDINARY.replace("wait_group 0", "wait_group 1"), schedule=schedule)
    assert caught.value.kind == "in-flight"


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("noinc", "count"), [(".noinc", 33), ("", 1)])
def test_cp_async_may_arrive_on_an_mbarrier(noinc: str, count: int, schedule: str) -> None:
    body = (
        f"""
  .shared .align 16 .b8 tile[512]; .shared .align 8 .b64 bar;
  mov.u32 %r0, tile; mov.u32 %r1, bar; setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], {count};
  bar.sync 0;
  mad.lo.u32 %r2, %t, 8, %r0; mad.wide.u32 %l1, %t, 8, %i;
  cp.async.ca.shared.global [%r2], [%l1], 8;
  cp.async.mbarrier.arrive{noinc}.shared::cta.b64 [%r1];
  @%p0 mbarrier.arrive.shared::cta.b64 _, [%r1];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra WAIT;
  xor.b32 %r3, %r2, 8; ld.shared.u32 %d, [%r3];
"""
        + STORE
    )
    assert run(body, schedule=schedule)[:32].tolist() == [2 * (i ^ 1) for i in range(32)]


STORE_ASYNC = """
  .shared .align 16 .b8 tile[512]; .shared .align 8 .b64 bar;
  mov.u32 %r0, tile; mov.u32 %r1, bar; setp.eq.u32 %p0, %t, 0; mov.u32 %r2, %cluster_ctarank;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 512;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  xor.b32 %r3, %r2, 1;
  mad.lo.u32 %r4, %t, 16, %r0;
  mapa.shared::cluster.u32 %r5, %r4, %r3; mapa.shared::cluster.u32 %r6, %r1, %r3;
  mad.lo.u32 %r7, %r2, 1000, %t;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r5], {%r7, %t, %t, %r7}, [%r6];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra WAIT;
  ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r4];
  mad.lo.u32 %r12, %r2, 32, %t; mad.wide.u32 %l0, %r12, 4, %o; st.global.u32 [%l0], %r11;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_st_async_exchanges_registers_between_ctas(schedule: str) -> None:
    got = run(STORE_ASYNC, grid=2, cluster=2, schedule=schedule)
    assert got.tolist() == [1000 + i for i in range(32)] + list(range(32))


REMOTE = """
  .shared .align 4 .b32 word;
  mov.u32 %r0, word; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %t, 0; xor.b32 %r2, %r1, 1;
  add.u32 %r3, %r1, 10;
  mapa.shared::cluster.u32 %r4, %r0, %r2;
  barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
  @%p0 st.shared::cluster.u32 [%r4], %r3;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ld.shared.u32 %d, [%r0];
  ld.shared::cluster.u32 %r5, [%r4]; mad.lo.u32 %d, %r5, 100, %d;
  mad.lo.u32 %r12, %r1, 32, %t; mad.wide.u32 %l0, %r12, 4, %o; st.global.u32 [%l0], %d;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_peers_read_and_write_each_other(schedule: str) -> None:
    got = run(REMOTE, grid=2, cluster=2, schedule=schedule)
    assert got.tolist() == [1011] * 32 + [1110] * 32
    relaxed = REMOTE.replace(
        "[%r4], %r3;\n  barrier.cluster.arrive.", "[%r4], %r3;\n  barrier.cluster.arrive.relaxed."
    )
    with pytest.raises(te.EmulationError) as caught:
        run(relaxed, grid=2, cluster=2, schedule=schedule)
    assert caught.value.kind == "race"


def test_host_memory_is_used_at_its_own_address() -> None:
    host = (ctypes.c_uint32 * 32)(*range(32))
    device = te.Device()
    address = ctypes.addressof(host)
    device.map_host(address, 128)
    raw = address.to_bytes(8, "little")
    body = "mad.wide.u32 %l0, %t, 4, %o; ld.global.u32 %d, [%l0]; add.u32 %d, %d, 5;" + STORE
    device.launch(kernel(body), "k", block=(32, 1, 1), args=[raw, raw])
    assert list(host) == list(range(5, 37))
    device.unmap_host(address)
    with pytest.raises(te.EmulationError) as caught:
        device.launch(kernel(body), "k", block=(32, 1, 1), args=[raw, raw])
    assert caught.value.kind == "address"


def test_accesses_outside_of_a_buffer_are_reported() -> None:
    with pytest.raises(te.EmulationError) as caught:
        run("ld.global.u32 %d, [%i+256];", size=64)
    assert caught.value.kind == "address" and "256 bytes into allocation" in str(caught.value)
    with pytest.raises(te.EmulationError) as caught:
        run("ld.global.u32 %d, [%i+2];")
    assert caught.value.kind == "address"
