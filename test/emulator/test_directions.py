# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies in every direction: reductions into a peer and into global memory, groups, and multicast.

What reductions give is computed from PTX's definition with NumPy; each fault changes one thing in a
kernel that is right.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from two_ctas import CLUSTER_SYNC, INIT, SCHEDULES, reported, run, wait

import tile_emulator as te

N = 64
NUMPY = {
    "u32": np.uint32, "s32": np.int32, "b32": np.uint32, "u64": np.uint64, "s64": np.int64,
    "b64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64,
}  # fmt: skip


def combined(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what PTX says of `a` at the destination and `b` that comes."""
    if name == "inc":
        return np.where(a >= b, a.dtype.type(0), a + a.dtype.type(1))
    if name == "dec":
        return np.where((a == 0) | (a > b), b, a - a.dtype.type(1))
    functions = {
        "add": np.add, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    return functions[name](a, b)


def drawn(kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = NUMPY[kind]
    if "f" in kind:
        return rng.uniform(-100, 100, N).astype(dtype)
    return rng.integers(0, 1 << 30, N).astype(dtype) * dtype(3)


HEADER = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 first, .param .u64 second)
{
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %q<20>;
  .shared .align 128 .b8 own[512]; .shared .align 128 .b8 there[512]; .shared .align 8 .b64 bar;
  mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %tid.x;
  ld.param.u64 %q0, [first]; ld.param.u64 %q1, [second];
  mul.wide.u32 %q2, %r1, 16; add.u64 %q3, %q0, %q2; add.u64 %q4, %q1, %q2;
  shl.b32 %r2, %r1, 4; mov.u32 %r3, own; mov.u32 %r4, there; mov.u32 %r5, bar;
  add.u32 %r6, %r3, %r2; add.u32 %r7, %r4, %r2;
  setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r0, 0;
"""

INTO_PEER = """  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%q3];
  st.shared.v4.u32 [%r6], {%r8, %r9, %r10, %r11};
  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%q4];
  st.shared.v4.u32 [%r7], {%r8, %r9, %r10, %r11};
  @%p0 mbarrier.init.shared::cta.b64 [%r5], 1; fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  and.pred %p2, %p0, %p1; not.pred %p1, %p1;
  mapa.shared::cluster.u32 %r12, %r4, 1; mapa.shared::cluster.u32 %r13, %r5, 1;
  @%p2 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.OP.KIND
    [%r12], [%r3], BYTES, [%r13];
  @!%p1 bra END;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], BYTES;
W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0; @!%p3 bra W;
  ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r7]; st.global.v4.u32 [%q4], {%r8, %r9, %r10, %r11};
END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ret;
}
"""

INTO_GLOBAL = """  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%q3];
  st.shared.v4.u32 [%r6], {%r8, %r9, %r10, %r11};
  fence.proxy.async; bar.sync 0;
  @!%p0 bra END;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.OP.KIND [%q1], [%r3], BYTES;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
END: ret;
}
"""

PEER = [("add", k) for k in ("u32", "s32", "u64")]
PEER += [(op, k) for op in ("min", "max") for k in ("u32", "s32")]
PEER += [(op, "u32") for op in ("inc", "dec")] + [(op, "b32") for op in ("and", "or", "xor")]
GLOBAL = PEER + [("add", k) for k in ("f32", "f64", "noftz.f16", "noftz.bf16")]
GLOBAL += [(op, k) for op in ("min", "max") for k in ("u64", "s64", "f16", "bf16")]
GLOBAL += [(op, "b64") for op in ("and", "or", "xor")]


@pytest.mark.parametrize(("op", "kind"), PEER)
def test_a_bulk_reduction_into_a_peer(op: str, kind: str) -> None:
    check(INTO_PEER, op, kind, cluster=2)


@pytest.mark.parametrize(("op", "kind"), GLOBAL)
def test_a_bulk_reduction_into_global_memory(op: str, kind: str) -> None:
    check(INTO_GLOBAL, op, kind, cluster=1)


def check(body: str, op: str, kind: str, cluster: int) -> None:
    element = kind.removeprefix("noftz.")
    a, b = drawn(element, 1), drawn(element, 2)
    threads = a.nbytes // 16
    text = body.replace("OP", op).replace("KIND", kind).replace("BYTES", str(a.nbytes))
    want = combined(op, a, b)
    given = a.copy()
    program = te.parse(HEADER + text)
    te.emulate(program, "k", [b, given], grid=cluster, block=threads, cluster=cluster)
    np.testing.assert_array_equal(given.view(np.uint8), want.view(np.uint8))


@pytest.mark.parametrize(
    "opcode",
    [
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u64",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32",
    ],
)
def test_what_ptx_does_not_reduce_is_refused(opcode: str) -> None:
    where = "[%q1], [%r3], 16" if ".global." in opcode else "[%r3], [%r3], 16, [%r5]"
    if opcode.startswith("red"):
        where = "[%r3], %r8, [%r5]"
    program = te.parse(f"{HEADER}{opcode} {where}; ret;\n}}\n")
    with pytest.raises(te.PTXError, match="unsupported instruction"):
        te.emulate(program, "k", [np.zeros(4), np.zeros(4)], grid=1, block=1)


# Each of 64 threads of both CTAs adds its number to one word of CTA 1.
RED = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32"
CLEARED = "@%first st.shared.u32 [%sm], 5;\n"
MAPPED = "mapa.shared::cluster.u32 %r1, %sm, 1; mapa.shared::cluster.u32 %r2, %bar, 1;\n"
ARMED = "@%first1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;\n"
SENT = f"{RED} [%r1], %tid, [%r2];\n"
READ = f"@%rank0 bra DONE;\n{wait('W')}"
READ += "ld.shared.u32 %r3, [%sm]; @%first st.global.u32 [%out], %r3;\nDONE:\n"
WHOLE = CLEARED + INIT + CLUSTER_SYNC + MAPPED + ARMED + SENT + READ


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_registers_are_added_by_all_threads(schedule: str) -> None:
    assert run(WHOLE, schedule, block=64)[0] == 5 + 2 * sum(range(64))


FAULTS = {
    "nothing to add to": ("uninitialised-read", CLEARED, ""),
    "the sum read before the wait": ("in-flight", wait("W"), ""),
    "armed with too few bytes": ("arrivals", "512", "256"),
    "one that does not add": ("deadlock", SENT, "@!%first0 " + SENT),
    "a store among them": ("in-flight", SENT, SENT + "@%first1 st.shared.u32 [%sm], 1;\n"),
    "another barrier than the data's": ("address", "[%r2]", "[%bar]"),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_red_async(fault: str, schedule: str) -> None:
    kind, old, new = FAULTS[fault]
    assert WHOLE.count(old) >= 1
    with pytest.raises(te.EmulationError) as caught:
        run(WHOLE.replace(old, new), schedule, block=64)
    # Where bytes are missing, who waits tells of it.
    kinds = {kind, "deadlock"} if kind == "arrivals" else {kind}
    assert caught.value.kind in kinds, str(caught.value)


# CTA 0 and CTA 1 both add 512 bytes to CTA 1.
FILL = """mad.lo.u32 %r0, %tid, 16, %sm; st.shared.v4.u32 [%r0], {%tid, %tid, %tid, %tid};
st.shared.v4.u32 [%r0+1024], {7, 7, 7, 7};
"""
TWO_ADD = """add.u32 %r3, %r1, 1024;
@%first cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32
  [%r3], [%sm], 512, [%r2];
"""
BOTH = (
    FILL + "fence.proxy.async;\n" + INIT + CLUSTER_SYNC + MAPPED + ARMED.replace("512", "1024")
    + TWO_ADD + "@%rank0 bra DONE;\n" + wait("W")
    + "ld.shared.u32 %r4, [%r0+1024]; mul.wide.u32 %q0, %tid, 4; add.u64 %q0, %q0, %out;\n"
    + "st.global.u32 [%q0], %r4;\nDONE:\n"
)  # fmt: skip
BOTH_FAULTS = {
    "stores that no fence shows": ("proxy-fence", "fence.proxy.async;", ""),
    "a sum read before the wait": ("in-flight", wait("W"), ""),
    "a copy among the reductions": (
        "in-flight",
        TWO_ADD,
        TWO_ADD + TWO_ADD.replace("cp.reduce", "cp").replace(".add.u32", "").replace(
            "@%first ", "@%first0 "
        ),
    ),
    "a size that is no multiple": ("address", "[%sm], 512,", "[%sm], 520,"),
    "a source that is stored to meanwhile": (
        "in-flight", TWO_ADD, TWO_ADD + "@%rank0 st.shared.u32 [%r0], 1;\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_two_ctas_add_to_one_tile(schedule: str) -> None:
    out = run(BOTH, schedule)
    assert out[:32].tolist() == [7 + 2 * i for i in range(32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", BOTH_FAULTS)
def test_faults_of_bulk_reductions(fault: str, schedule: str) -> None:
    kind, old, new = BOTH_FAULTS[fault]
    assert old in BOTH
    body = BOTH.replace(old, new).replace("1024;\n@%first1", "1024;\n@%first1")
    reported(kind, body, schedule)


# Thread 0 stores a tile to global memory, which it then reads.
TO_GLOBAL = """mad.lo.u32 %r0, %tid, 16, %sm; st.shared.v4.u32 [%r0], {%tid, %tid, %tid, %tid};
fence.proxy.async; bar.sync 0;
@!%first bra END;
cp.async.bulk.global.shared::cta.bulk_group [%out], [%sm], 512; cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ld.global.u32 %r3, [%out+16]; add.u32 %r3, %r3, 100; st.global.u32 [%out+16], %r3;
END: bar.sync 0;
"""
ONE = {"cluster": 1}
READS_BACK = "ld.global.u32 %r3, [%out+16]; add.u32 %r3, %r3, 100; st.global.u32 [%out+16], %r3;\n"
DONE = "cp.async.bulk.wait_group 0;\n"
OTHER = "setp.eq.u32 %p0, %tid, 1; @%p0 st.global.u32 [%out+8], 1;\n"
GLOBAL_FAULTS = {
    "read after its source alone is free": ("in-flight", DONE, DONE.replace(" 0", ".read 0")),
    "read although a group is left": ("in-flight", DONE, DONE.replace("0", "1")),
    "never committed": ("in-flight", "cp.async.bulk.commit_group;", ""),
    "stored to by another thread that was told too early": (
        "in-flight", f"{DONE}{READS_BACK}END: bar.sync 0;\n",
        f"{DONE.replace(' 0', '.read 0')}END: bar.sync 0;\n{OTHER}",
    ),
    "loaded from by another copy too early": (
        "in-flight", DONE + READS_BACK,
        "mbarrier.init.shared::cta.b64 [%bar], 1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 16;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%sm+1024], [%out], 16,"
        f" [%bar];\n{wait('W')}{DONE}",
    ),
    "a source that no fence shows": ("proxy-fence", "fence.proxy.async;", ""),
    "the source stored to before it was read": (
        "in-flight", DONE, f"st.shared.u32 [%sm], 1; {DONE}",
    ),
    "the CTA ends before its source was read": (
        "early-exit", f"{DONE}{READS_BACK}END: bar.sync 0;\n", "END:",
    ),
    "a destination at no multiple of 16": ("address", "[%out], [%sm], 512", "[%out+4], [%sm], 512"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_tile_is_read_back_from_global_memory(schedule: str) -> None:
    out = run(TO_GLOBAL, schedule, **ONE)
    assert out[:8].tolist() == [0, 0, 0, 0, 101, 1, 1, 1]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_thread_stores_once_it_is_told(schedule: str) -> None:
    out = run(TO_GLOBAL.replace(READS_BACK, "") + OTHER, schedule, **ONE)
    assert out[:4].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", GLOBAL_FAULTS)
def test_faults_of_bulk_stores(fault: str, schedule: str) -> None:
    kind, old, new = GLOBAL_FAULTS[fault]
    assert old in TO_GLOBAL
    reported(kind, TO_GLOBAL.replace(old, new), schedule, **ONE)


# Thread 0 of CTA 0 loads 256 bytes into the CTAs of a mask.
MULTICAST = f"""{INIT}{CLUSTER_SYNC}mov.b16 %h0, 3;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;
@%first0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
  [%sm], [%in], 256, [%bar], %h0;
{wait("W")}
shl.b32 %r0, %tid, 2; add.u32 %r0, %r0, %sm; ld.shared.u32 %r1, [%r0];
shl.b32 %r2, %rank, 7; shl.b32 %r3, %tid, 2; add.u32 %r2, %r2, %r3; cvt.u64.u32 %q0, %r2;
add.u64 %q0, %q0, %out; st.global.u32 [%q0], %r1;
"""
MULTICAST_FAULTS = {
    "a receiver that arms nothing": (
        "deadlock", "@%first mbarrier.arrive", "@%first0 mbarrier.arrive",
    ),
    "a receiver outside of the mask": ("deadlock", "%h0, 3", "%h0, 1"),
    "a bit beyond the cluster": ("address", "%h0, 3", "%h0, 7"),
    "bytes of another size": ("deadlock", "_, [%bar], 256", "_, [%bar], 272"),
    "read before the wait": ("in-flight", wait("W"), ""),
    "a barrier that a peer has not initialised": (
        "uninitialised-barrier", INIT, INIT.replace("@%first mb", "@%first0 mb"),
    ),
    "no cluster barrier after the init": ("uninitialised-barrier", INIT + CLUSTER_SYNC, INIT),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_tile_for_both_ctas(schedule: str) -> None:
    out = run(MULTICAST, schedule)
    assert out[:64].tolist() == [*range(32)] * 2


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", MULTICAST_FAULTS)
def test_faults_of_multicast(fault: str, schedule: str) -> None:
    kind, old, new = MULTICAST_FAULTS[fault]
    assert old in MULTICAST
    with pytest.raises(te.EmulationError) as caught:
        run(MULTICAST.replace(old, new), schedule)
    # Whether the barrier is missing or only not known to be there depends on the schedule.
    kinds = {kind, "not-started", "race"} if kind == "uninitialised-barrier" else {kind}
    assert caught.value.kind in kinds, str(caught.value)
