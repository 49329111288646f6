# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The faults: one edit of a correct kernel each, and the kind under which it must be reported.

`old` stands exactly once in the kernel's text; lines keep their indentation. A fault of `strict`
checks passes the default ones, with the right bytes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What is broken in `kernel`, by replacing `old` by `new`."""

    name: str
    kernel: str
    kind: str
    why: str
    old: str
    new: str
    strict: bool = False


def fault(name: str, kernel: str, kind: str, why: str, old: str, new: str = "") -> Fault:
    """Describe one fault of the default checks; without `new` the text is deleted."""
    return Fault(name, kernel, kind, why, old, new)


def strict(name: str, kernel: str, kind: str, why: str, old: str, new: str = "") -> Fault:
    """Describe one fault that only strict checks report."""
    return Fault(name, kernel, kind, why, old, new, strict=True)


BULK = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
ARM = "mbarrier.arrive.expect_tx.shared::cta.b64 _,"
WAIT = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %ready,"
ACK = "mbarrier.arrive.release.cluster.shared::cluster.b64 _,"
ENTRY = """\
  bar.sync 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
"""
EXIT = """\
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
"""

# One line for the name, one for the reason, one for the edit.
# fmt: off
ONE_SHOT = [
    fault(
        "armed_with_too_few_bytes", "one_shot", "arrivals",
        "The phase is armed with half of the bytes that arrive.",
        f"{ARM} [full], 1024;", f"{ARM} [full], 512;",
    ),
    fault(
        "armed_with_too_many_bytes", "one_shot", "deadlock",
        "The phase waits for 16 bytes that nobody sends.",
        f"{ARM} [full], 1024;", f"{ARM} [full], 1040;",
    ),
    fault(
        "armed_twice", "one_shot", "arrivals",
        "A second arm is a second arrival on a barrier for one.",
        f"  @%first {ARM} [full], 1024;",
        f"  @%first {ARM} [full], 512;\n  @%first {ARM} [full], 512;",
    ),
    fault(
        "armed_by_every_thread", "one_shot", "arrivals",
        "Each of the 64 threads arms the barrier.",
        f"  @%first {ARM}", f"  {ARM}",
    ),
    fault(
        "never_armed", "one_shot", "deadlock",
        "Bytes complete no phase without the arrival that arms it.",
        f"  @%first {ARM} [full], 1024;\n",
    ),
    fault(
        "expects_beyond_the_limit", "one_shot", "address",
        "A transaction count holds at most 2^20 - 1 bytes.",
        f"{ARM} [full], 1024;", f"{ARM} [full], 1048576;",
    ),
    fault(
        "waits_for_the_other_parity", "one_shot", "in-flight",
        "Parity 1 of a fresh barrier is the phase before the first: the wait passes at once.",
        "[full], 0;", "[full], 1;",
    ),
    fault(
        "reads_without_a_wait", "one_shot", "in-flight",
        "The destination is read as soon as the barrier is armed.",
        "  @!%ready bra wait_full;\n",
    ),
    fault(
        "only_one_thread_waits", "one_shot", "in-flight",
        "63 threads read what only thread 0 has waited for.",
        f"wait_full:\n  {WAIT} [full], 0;\n  @!%ready bra wait_full;\n",
        "  @!%first bra read;\n"
        f"wait_full:\n  {WAIT} [full], 0;\n  @!%ready bra wait_full;\nread:\n",
    ),
    fault(
        "source_not_fenced", "one_shot", "proxy-fence",
        "The source is written by ordinary stores and read through the async proxy.",
        "  fence.proxy.async.shared::cta;\n",
    ),
    fault(
        "source_fenced_by_the_issuer_alone", "one_shot", "proxy-fence",
        "The issuer's fence stands before the barrier that shows it the others' stores.",
        "  fence.proxy.async.shared::cta;\n", "  @%first fence.proxy.async.shared::cta;\n",
    ),
    fault(
        "global_fence_for_shared_memory", "one_shot", "proxy-fence",
        "The fence names the async proxy of global memory.",
        "fence.proxy.async.shared::cta", "fence.proxy.async.global",
    ),
    fault(
        "source_not_synchronised", "one_shot", "in-flight",
        "The copy starts before the other threads have written their part of the source.",
        "  bar.sync 1;\n",
    ),
    fault(
        "source_overwritten_after_issue", "one_shot", "in-flight",
        "The issuer reuses the source at once.",
        f"{BULK} [%remote_dst], [%src], 1024, [%remote_full];\n",
        f"{BULK} [%remote_dst], [%src], 1024, [%remote_full];\n"
        "  @%first st.shared.b32 [src], %x0;\n",
    ),
    fault(
        "no_cluster_barrier_at_entry", "one_shot", "not-started",
        "CTA 1 may not run yet when the copy is issued.",
        ENTRY, "  bar.sync 0;\n",
    ),
    fault(
        "no_cluster_barrier_at_exit", "one_shot", "early-exit",
        "CTA 0 exits while its source is being read.",
        EXIT, "  ret;\n",
    ),
    fault(
        "sender_returns_early", "one_shot", "early-exit",
        "CTA 0 returns after the copy, before the cluster barrier at the end.",
        "  bra done;", "  ret;",
    ),
    fault(
        "receiver_returns_early", "one_shot", "early-exit",
        "CTA 1 returns before its bytes have come.",
        "receive:\n", "receive:\n  ret;\n",
    ),
    fault(
        "local_barrier_for_mapped_data", "one_shot", "address",
        "The copy signals the sender's barrier.",
        "1024, [%remote_full];", "1024, [full];",
    ),
    fault(
        "mapped_barrier_for_local_data", "one_shot", "address",
        "The copy writes to the sender and signals the receiver.",
        "[%remote_dst], [%src], 1024", "[dst], [%src], 1024",
    ),
    fault(
        "copy_to_own_cta", "one_shot", "address",
        "The peer is the sender itself.",
        "mov.u32 %peer, 1;", "mov.u32 %peer, 0;",
    ),
    fault(
        "rank_outside_of_the_cluster", "one_shot", "address",
        "There is no CTA 2 in a cluster of two.",
        "mov.u32 %peer, 1;", "mov.u32 %peer, 2;",
    ),
    fault(
        "size_not_a_multiple_of_16", "one_shot", "address",
        "Bulk copies move multiples of 16 bytes.",
        "[%src], 1024,", "[%src], 1016,",
    ),
    fault(
        "size_of_nothing", "one_shot", "address",
        "A bulk copy of no bytes is none.",
        "[%src], 1024,", "[%src], 0,",
    ),
    fault(
        "source_misaligned", "one_shot", "address",
        "The source must be a multiple of 16.",
        "[%src], 1024,", "[%src+8], 1024,",
    ),
    fault(
        "destination_misaligned", "one_shot", "address",
        "The destination must be a multiple of 16.",
        "[%remote_dst], [%src], 1024,", "[%remote_dst+8], [%src], 1024,",
    ),
    fault(
        "size_beyond_shared_memory", "one_shot", "address",
        "The copy leaves the shared memory of both CTAs.",
        "[%src], 1024,", "[%src], 4096,",
    ),
    fault(
        "copy_runs_into_the_barrier", "one_shot", "address",
        "The copy is 16 bytes too long and ends on the receiver's barrier.",
        "[%src], 1024,", "[%src], 1040,",
    ),
    fault(
        "barrier_not_initialised", "one_shot", "uninitialised-barrier",
        "Nobody executes mbarrier.init.",
        "  @%first mbarrier.init.shared::cta.b64 [full], 1;\n",
    ),
    fault(
        "barrier_for_two_arrivals", "one_shot", "deadlock",
        "The barrier counts an arrival that never comes.",
        "init.shared::cta.b64 [full], 1;", "init.shared::cta.b64 [full], 2;",
    ),
    fault(
        "barrier_for_no_arrivals", "one_shot", "arrivals",
        "A barrier counts at least one arrival.",
        "init.shared::cta.b64 [full], 1;", "init.shared::cta.b64 [full], 0;",
    ),
    fault(
        "barrier_for_too_many_arrivals", "one_shot", "arrivals",
        "A barrier counts at most 2^20 - 1 arrivals.",
        "init.shared::cta.b64 [full], 1;", "init.shared::cta.b64 [full], 1048576;",
    ),
    fault(
        "half_of_the_source_written", "one_shot", "uninitialised-read",
        "Warp 1 writes nothing, and its half is copied.",
        "  st.shared.v4.b32 [%at], {%x0, %x1, %x2, %x3};",
        "  setp.lt.u32 %ready, %thread, 32;\n"
        "  @%ready st.shared.v4.b32 [%at], {%x0, %x1, %x2, %x3};",
    ),
    fault(
        "wrong_buffer_read", "one_shot", "uninitialised-read",
        "The receiver reads its source buffer, which nobody has written.",
        "  @!%ready bra wait_full;\n  mov.u32 %at, dst;",
        "  @!%ready bra wait_full;\n  mov.u32 %at, src;",
    ),
    fault(
        "one_lane_at_the_cta_barrier", "one_shot", "divergence",
        "bar.sync is executed by one lane of a warp.",
        "  bar.sync 1;\n", "  @%first bar.sync 1;\n",
    ),
    fault(
        "copy_by_every_thread", "one_shot", "in-flight",
        "Each of 64 threads issues the whole copy.",
        f"  @%first {BULK}", f"  {BULK}",
    ),
    fault(
        "waits_for_a_second_phase", "one_shot", "deadlock",
        "The receiver waits for a phase that nobody arms.",
        "  @!%ready bra wait_full;\n",
        f"  @!%ready bra wait_full;\nwait_more:\n  {WAIT} [full], 1;\n  @!%ready bra wait_more;\n",
    ),
]

RING = [
    fault(
        "receiver_takes_the_stage_as_parity", "ring", "in-flight",
        "The parity changes with each tile instead of with each use of a stage.",
        "and.b32 %parity, %use, 1;", "and.b32 %parity, %it, 1;",
    ),
    fault(
        "receiver_stops_flipping_the_parity", "ring", "in-flight",
        "The third use of a stage waits for the parity of the second, which is over.",
        "and.b32 %parity, %use, 1;", "min.u32 %parity, %use, 1;",
    ),
    fault(
        "sender_waits_for_the_other_parity", "ring", "in-flight",
        "The wait for a free stage passes at once, and the source is overwritten.",
        "  add.u32 %parity, %use, 1;\n", "  mov.u32 %parity, %use;\n",
    ),
    fault(
        "sender_does_not_wait", "ring", "in-flight",
        "A stage is filled again while its copy may still read it.",
        "  @!%ready bra wait_empty;\n",
    ),
    fault(
        "receiver_waits_on_one_barrier", "ring", "in-flight",
        "The second stage is read after a wait on the barrier of the first.",
        "  add.u32 %full, %full, %bars;\nwait_full:\n", "wait_full:\n",
    ),
    fault(
        "no_acknowledgement", "ring", "deadlock",
        "The sender waits for a free stage, and nobody says that it is.",
        f"  {ACK} [%remote_empty];\n",
    ),
    fault(
        "acknowledgement_to_the_wrong_cta", "ring", "in-flight",
        "The receiver frees a stage of the CTA it sends to, not of the one it received from.",
        "mapa.shared::cluster.u32 %remote_empty, %empty, %previous;",
        "mapa.shared::cluster.u32 %remote_empty, %empty, %next;",
    ),
    fault(
        "acknowledgement_on_the_local_barrier", "ring", "in-flight",
        "The receiver arrives on its own barrier, which frees its own sender's stage.",
        f"{ACK} [%remote_empty];", f"{ACK} [%empty];",
    ),
    fault(
        "local_form_for_the_peers_barrier", "ring", "address",
        "A shared::cta arrive takes no mapped address.",
        f"{ACK} [%remote_empty];", "mbarrier.arrive.shared::cta.b64 _, [%remote_empty];",
    ),
    fault(
        "acknowledgement_by_every_lane", "ring", "arrivals",
        "32 lanes arrive on a barrier for one.",
        "  @!%leader bra received;\n  setp.lt.u32 %more, %it, 4;\n  @%more mbarrier",
        "  setp.lt.u32 %more, %it, 4;\n  and.pred %more, %more, %leader;\n  @%more mbarrier",
    ),
    fault(
        "acknowledgement_before_the_read", "ring", "in-flight",
        "The stage is freed before its tile is read.",
        "  @!%ready bra wait_full;\n",
        "  @!%ready bra wait_full;\n  mov.u32 %empty, empty;\n  add.u32 %empty, %empty, %bars;\n"
        "  mapa.shared::cluster.u32 %remote_empty, %empty, %previous;\n"
        f"  @%leader {ACK} [%remote_empty];\n  @%leader bra read;\nread:\n",
    ),
    fault(
        "acknowledgement_without_the_other_lanes", "ring", "in-flight",
        "Lane 0 acknowledges although lanes 1 to 31 may still read.",
        "  bar.warp.sync 0xffffffff;\n  @!%leader bra received;\n", "  @!%leader bra received;\n",
    ),
    fault(
        "copy_without_the_other_lanes", "ring", "in-flight",
        "Lane 0 issues the copy although lanes 1 to 31 may still write the source.",
        "  bar.warp.sync 0xffffffff;\n  @!%leader bra sent;\n", "  @!%leader bra sent;\n",
    ),
    fault(
        "armed_only_at_the_start", "ring", "deadlock",
        "No phase but the first of each stage is armed.",
        f"  @%more {ARM} [%full], 512;\n",
    ),
    fault(
        "armed_once_too_often", "ring", "arrivals",
        "The next phase is armed before the wait for the one before.",
        "wait_full:\n", f"  @%leader {ARM} [%full], 512;\nwait_full:\n",
    ),
    fault(
        "one_source_buffer_for_two_stages", "ring", "in-flight",
        "The stage's offset is dropped: the second tile overwrites the first.",
        "  add.u32 %src, %src, %tile;\n",
    ),
    fault(
        "one_destination_for_two_stages", "ring", "in-flight",
        "The stage's offset is dropped: two copies write the same bytes.",
        "  add.u32 %at, %at, %tile;\n  mapa", "  mapa",
    ),
    fault(
        "one_barrier_for_two_stages", "ring", "arrivals",
        "The bytes of the second stage are counted on the first stage's barrier.",
        "  add.u32 %at, %at, %bars;\n",
    ),
    fault(
        "later_phases_armed_with_too_few_bytes", "ring", "arrivals",
        "The first use of each stage is armed rightly, later ones with 16 bytes less.",
        f"  @%more {ARM} [%full], 512;", f"  @%more {ARM} [%full], 496;",
    ),
    fault(
        "ring_leaves_without_a_barrier", "ring", "early-exit",
        "CTAs exit while their peers may still use their memory.",
        EXIT, "  ret;\n",
    ),
    fault(
        "destination_of_another_size", "ring", "address",
        "A tile goes to a place beyond the receiver's shared memory.",
        "  shl.b32 %tile, %stage, 9;\n  setp.eq", "  shl.b32 %tile, %stage, 12;\n  setp.eq",
    ),
    strict(
        "acknowledgement_of_cta_scope", "ring", "in-flight",
        "The acknowledgement releases to the peer at the default scope, its own CTA.",
        f"{ACK} [%remote_empty];", "mbarrier.arrive.shared::cluster.b64 _, [%remote_empty];",
    ),
    strict(
        "wait_of_cta_scope_for_remote_bytes", "ring", "in-flight",
        "The wait acquires at the default scope, its own CTA, what a peer has sent.",
        "wait_full:\n  mbarrier.try_wait.parity.acquire.cluster",
        "wait_full:\n  mbarrier.try_wait.parity",
    ),
]

FOUR_BARRIERS = [
    fault(
        "parity_of_a_loop_over_fresh_barriers", "four_barriers", "in-flight",
        "Each barrier is in its first phase, but the parity alternates.",
        "mov.u32 %parity, 0;", "and.b32 %parity, %i, 1;",
    ),
    fault(
        "inits_not_fenced", "four_barriers", "uninitialised-barrier",
        "A relaxed cluster barrier does not show the inits to the peer.",
        "  fence.mbarrier_init.release.cluster;\n",
    ),
    fault(
        "one_barrier_left_out", "four_barriers", "uninitialised-barrier",
        "The fourth barrier is never initialised.",
        "  mbarrier.init.shared::cta.b64 [bars+24], 1;\n",
    ),
    fault(
        "barriers_overlap", "four_barriers", "address",
        "The second barrier begins in the middle of the first.",
        "[bars+8], 1;", "[bars+4], 1;",
    ),
    fault(
        "one_barrier_for_all_tiles", "four_barriers", "arrivals",
        "All tiles are counted on the first barrier.",
        "  add.u32 %remote_bar, %remote_bar, 8;\n",
    ),
    fault(
        "one_tile_not_sent", "four_barriers", "deadlock",
        "The loop ends one tile early.",
        "  setp.lt.u32 %more, %i, 4;\n  @%more bra send;",
        "  setp.lt.u32 %more, %i, 3;\n  @%more bra send;",
    ),
    fault(
        "one_tile_too_many_sent", "four_barriers", "address",
        "The fifth tile leaves the buffers.",
        "  setp.lt.u32 %more, %i, 4;\n  @%more bra send;",
        "  setp.lt.u32 %more, %i, 5;\n  @%more bra send;",
    ),
    fault(
        "next_tile_read_after_the_wait", "four_barriers", "in-flight",
        "The offset of a tile is one ahead of its barrier.",
        "  add.u32 %at, %at, %offset;\nnext_tile:\n",
        "  add.u32 %at, %at, %offset;\n  add.u32 %at, %at, 256;\nnext_tile:\n",
    ),
]

FAN_IN = [
    fault(
        "one_of_three_senders_not_counted", "fan_in", "arrivals",
        "The phase is armed for the bytes of two of the three senders.",
        f"{ARM} [full], 1536;", f"{ARM} [full], 1024;",
    ),
    fault(
        "sub_slice_offset_dropped", "fan_in", "in-flight",
        "All senders write the first slice.",
        "  add.u32 %at, %at, %slice;\n",
    ),
    fault(
        "slices_overlap", "fan_in", "in-flight",
        "Slices are 256 bytes apart, but 512 bytes long.",
        "shl.b32 %slice, %slice, 9;", "shl.b32 %slice, %slice, 8;",
    ),
    fault(
        "one_sender_does_not_send", "fan_in", "deadlock",
        "CTA 3 leaves without a copy.",
        "  @%receiver bra receive;\n",
        "  @%receiver bra receive;\n  setp.eq.u32 %more, %rank, 3;\n  @%more bra done;\n",
    ),
    fault(
        "one_lane_at_the_cluster_barrier", "fan_in", "divergence",
        "An aligned barrier is executed by one lane of a warp.",
        "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  @%receiver",
        "  @%first barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  @%receiver",
    ),
    fault(
        "copy_by_every_lane", "fan_in", "in-flight",
        "32 lanes issue the same copy.",
        f"  @%first {BULK}", f"  {BULK}",
    ),
    fault(
        "barrier_for_three_arms", "fan_in", "deadlock",
        "The barrier counts one arrival for each sender, but senders do not arrive.",
        "init.shared::cta.b64 [full], 1;", "init.shared::cta.b64 [full], 3;",
    ),
    fault(
        "mapped_beyond_the_cluster", "fan_in", "address",
        "The target is computed from the grid instead of the cluster.",
        "mov.u32 %target, 0;", "mov.u32 %target, %cluster_nctarank;",
    ),
    fault(
        "barrier_of_another_cta", "fan_in", "address",
        "The data go to CTA 0, their bytes are counted on the sender's own rank.",
        "mapa.shared::cluster.u32 %remote_full, %at, %target;",
        "mapa.shared::cluster.u32 %remote_full, %at, %rank;",
    ),
    fault(
        "senders_leave_without_a_barrier", "fan_in", "early-exit",
        "The senders exit while their sources are read.",
        "  bra done;\n", "  ret;\n",
    ),
]

CHUNKS = [
    fault(
        "one_issuer_in_each_warp", "chunks", "in-flight",
        "A lane of each warp issues all chunks.",
        "  @%more bra done;\n  elect.sync", "  elect.sync",
    ),
    fault(
        "every_lane_issues", "chunks", "in-flight",
        "The elected lane's predicate is not used.",
        "  @!%elected bra done;\n",
    ),
    fault(
        "receiver_not_fenced", "chunks", "proxy-fence",
        "The receiver's ordinary stores are overwritten through the async proxy.",
        "  st.shared.v2.b32 [%at], {%zero, %zero};\n  fence.proxy.async;\n",
        "  st.shared.v2.b32 [%at], {%zero, %zero};\n",
    ),
    fault(
        "step_misaligned", "chunks", "address",
        "The rows of the destination are 72 bytes apart, no multiple of 16.",
        "add.u32 %remote_dst, %remote_dst, 80;", "add.u32 %remote_dst, %remote_dst, 72;",
    ),
    fault(
        "rows_overlap", "chunks", "in-flight",
        "The rows of the destination are 48 bytes apart, but 64 bytes long.",
        "add.u32 %remote_dst, %remote_dst, 80;", "add.u32 %remote_dst, %remote_dst, 48;",
    ),
    fault(
        "one_row_too_few", "chunks", "deadlock",
        "Seven of eight rows are sent.",
        "setp.lt.u32 %more, %i, 8;", "setp.lt.u32 %more, %i, 7;",
    ),
    fault(
        "elected_in_divergent_code", "chunks", "divergence",
        "elect.sync names lanes that are elsewhere.",
        "  elect.sync _|%elected, 0xffffffff;\n",
        "  setp.gt.u32 %more, %thread, 15;\n  @%more bra done;\n"
        "  elect.sync _|%elected, 0xffffffff;\n",
    ),
]

ST_ASYNC = [
    fault(
        "one_thread_does_not_send", "st_async", "deadlock",
        "63 of 64 threads send their 16 bytes.",
        "  mapa.shared::cluster.u32 %remote_dst, %at, %peer;\n",
        "  @%first bra done;\n  mapa.shared::cluster.u32 %remote_dst, %at, %peer;\n",
    ),
    fault(
        "eight_of_sixteen_bytes_sent", "st_async", "deadlock",
        "Each thread sends half of its bytes.",
        "v4.b32 [%remote_dst], {%x0, %x1, %x2, %x3}, ", "v2.b32 [%remote_dst], {%x0, %x1}, ",
    ),
    fault(
        "store_misaligned", "st_async", "address",
        "16 bytes go to an address that is a multiple of 8 only.",
        "v4.b32 [%remote_dst], {", "v4.b32 [%remote_dst+8], {",
    ),
    fault(
        "store_signals_a_local_barrier", "st_async", "address",
        "The bytes are counted on the sender's barrier.",
        "{%x0, %x1, %x2, %x3}, [%remote_full];", "{%x0, %x1, %x2, %x3}, [%at];",
    ),
    fault(
        "two_warps_store_to_one_place", "st_async", "in-flight",
        "The destination depends on the lane instead of the thread.",
        "  mapa.shared::cluster.u32 %remote_dst, %at, %peer;\n",
        "  and.b32 %offset, %offset, 511;\n  mov.u32 %at, dst;\n  add.u32 %at, %at, %offset;\n"
        "  mapa.shared::cluster.u32 %remote_dst, %at, %peer;\n",
    ),
    fault(
        "stored_bytes_read_without_a_wait", "st_async", "in-flight",
        "The receiver reads before the bytes are known to have come.",
        "  @!%ready bra wait_full;\n",
    ),
    fault(
        "peer_not_known_to_run", "st_async", "not-started",
        "CTA 1 may not run yet when bytes are stored into it.",
        "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"
        "  @!%sender bra receive;\n",
        "  @!%sender bra receive;\n",
    ),
    fault(
        "sent_to_own_cta", "st_async", "address",
        "The peer is the sender itself.",
        "mov.u32 %peer, 1;", "mov.u32 %peer, 0;",
    ),
    fault(
        "receiver_clears_too_late", "st_async", "in-flight",
        "The buffer is cleared after the cluster barrier that lets the sender begin.",
        f"receive:\n  @%first {ARM}",
        f"receive:\n  st.shared.v4.b32 [%at], {{%zero, %zero, %zero, %zero}};\n  @%first {ARM}",
    ),
]

RELAY = [
    fault(
        "forwarded_without_a_fence", "relay", "proxy-fence",
        "st.async writes through the generic proxy, and the bulk copy reads through the other.",
        "  fence.proxy.async.shared::cta;\n",
    ),
    fault(
        "forwarded_before_it_came", "relay", "in-flight",
        "The copy starts before its source is known to have come.",
        f"wait_full:\n  {WAIT} [full], 0;\n  @!%ready bra wait_full;\n",
        "  @%forwards bra forward;\n"
        f"wait_full:\n  {WAIT} [full], 0;\n  @!%ready bra wait_full;\nforward:\n",
    ),
    fault(
        "forwarded_beyond_the_last_cta", "relay", "address",
        "The last CTA forwards, too.",
        "  @!%forwards bra store;\n",
    ),
    fault(
        "barrier_shown_by_a_relaxed_arrive", "relay", "uninitialised-barrier",
        "Without a fence of the inits, a relaxed cluster barrier does not show them.",
        "barrier.cluster.arrive.release.aligned", "barrier.cluster.arrive.relaxed.aligned",
    ),
]

HAND_OVER = [
    fault(
        "stores_announced_by_a_relaxed_arrive", "hand_over", "race",
        "A relaxed arrive does not release the stores before it.",
        f"  @%leader {ACK} [%remote_full];\nwait_result:",
        "  @%leader mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%remote_full];\n"
        "wait_result:",
    ),
    fault(
        "stores_awaited_by_a_relaxed_wait", "hand_over", "race",
        "A relaxed wait does not acquire what the arrive released.",
        "receive:\n  mbarrier.try_wait.parity.acquire.cluster",
        "receive:\n  mbarrier.try_wait.parity.relaxed.cluster",
    ),
    fault(
        "stores_not_awaited", "hand_over", "race",
        "CTA 1 reads while its peer may still store.",
        "  @!%ready bra receive;\n",
    ),
    fault(
        "result_not_awaited", "hand_over", "race",
        "CTA 0 pulls the result before it is announced.",
        "  @!%ready bra wait_result;\n",
    ),
    fault(
        "arrive_without_the_other_lanes", "hand_over", "race",
        "Lane 0 announces stores that lanes 1 to 31 may not have made.",
        f"  bar.warp.sync 0xffffffff;\n  @%leader {ACK} [%remote_full];\nwait_result:",
        f"  @%leader {ACK} [%remote_full];\nwait_result:",
    ),
    fault(
        "every_lane_announces", "hand_over", "arrivals",
        "64 threads arrive on a barrier for two.",
        f"  @%leader {ACK} [%remote_full];\nwait_result:", f"  {ACK} [%remote_full];\nwait_result:",
    ),
    fault(
        "one_warp_does_not_announce", "hand_over", "deadlock",
        "One arrival of two comes.",
        f"  @%leader {ACK} [%remote_full];\nwait_result:",
        f"  @%first {ACK} [%remote_full];\nwait_result:",
    ),
    fault(
        "hand_over_to_a_cta_not_started", "hand_over", "not-started",
        "CTA 1 may not run yet when its memory is written.",
        ENTRY, "  bar.sync 0;\n",
    ),
    fault(
        "pulled_from_a_cta_that_may_be_gone", "hand_over", "early-exit",
        "CTA 1 exits while CTA 0 may still read its memory.",
        "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n",
    ),
    fault(
        "local_store_to_a_mapped_address", "hand_over", "address",
        "st.shared takes addresses of the own CTA only.",
        "st.shared::cluster.v4.b32 [%remote]", "st.shared.v4.b32 [%remote]",
    ),
    fault(
        "two_warps_own_the_same_words", "hand_over", "race",
        "Both warps store to the first half of the tile.",
        "  st.shared::cluster.v4.b32 [%remote], {",
        "  and.b32 %remote, %remote, 0xfffffdff;\n  st.shared::cluster.v4.b32 [%remote], {",
    ),
    fault(
        "stores_announced_at_cta_scope", "hand_over", "race",
        "The arrive releases at the default scope, its own CTA, what a peer shall read.",
        f"  @%leader {ACK} [%remote_full];\nwait_result:",
        "  @%leader mbarrier.arrive.shared::cluster.b64 _, [%remote_full];\nwait_result:",
    ),
    fault(
        "stores_awaited_at_cta_scope", "hand_over", "race",
        "The wait acquires at the default scope, its own CTA, what a peer has stored.",
        "receive:\n  mbarrier.try_wait.parity.acquire.cluster",
        "receive:\n  mbarrier.try_wait.parity",
    ),
]

REINIT = [
    fault(
        "initialised_again_without_inval", "reinit", "uninitialised-barrier",
        "A live barrier is initialised again.",
        "  @%first mbarrier.inval.shared::cta.b64 [full];\n",
    ),
    fault(
        "used_after_inval", "reinit", "uninitialised-barrier",
        "The barrier is not initialised again.",
        "  @%first mbarrier.inval.shared::cta.b64 [full];\n"
        "  @%first mbarrier.init.shared::cta.b64 [full], 1;\n",
        "  @%first mbarrier.inval.shared::cta.b64 [full];\n",
    ),
    fault(
        "parity_continued_after_reinit", "reinit", "in-flight",
        "The second life of the barrier begins with parity 0, but 1 is waited for.",
        "[full], 0;", "[full], %round;",
    ),
    fault(
        "second_life_for_two_arrivals", "reinit", "deadlock",
        "The barrier counts two arrivals in its second life.",
        "  @%first mbarrier.init.shared::cta.b64 [full], 1;\n\nnext:",
        "  @%first mbarrier.init.shared::cta.b64 [full], 2;\n\nnext:",
    ),
]

ACKNOWLEDGED_EXIT = [
    fault(
        "sender_exits_without_the_acknowledgement", "acknowledged_exit", "early-exit",
        "CTA 0 leaves after the last copy without waiting for the acknowledgement.",
        "wait_free:\n", "  setp.ne.u32 %more, %parity, 0;\n  @%more ret;\nwait_free:\n",
    ),
    fault(
        "destination_reused_without_the_acknowledgement", "acknowledged_exit", "in-flight",
        "The second tile overwrites the first, which may not have been read.",
        "  @!%ready bra wait_free;\n",
    ),
    strict(
        "reads_not_fenced_before_the_next_copy", "acknowledged_exit", "proxy-fence",
        "Ordinary reads of a tile come before a write through the async proxy.",
        "  st.global.v4.b32 [%global], {%x0, %x1, %x2, %x3};\n  fence.proxy.async.shared::cta;\n",
        "  st.global.v4.b32 [%global], {%x0, %x1, %x2, %x3};\n",
    ),
    fault(
        "receiver_acknowledges_and_leaves_too_early", "acknowledged_exit", "early-exit",
        "CTA 1 leaves after its first tile.",
        "  setp.ne.u32 %more, %parity, 0;\n  @%more bra next_tile;\n",
    ),
    fault(
        "peer_may_still_arrive", "acknowledged_exit", "early-exit",
        "CTA 1 arrives once more, and CTA 0 does not wait for that.",
        "  @%more bra next_tile;\n", f"  @%more bra next_tile;\n  @%first {ACK} [%remote_free];\n",
    ),
    fault(
        "relaxed_acknowledgement", "acknowledged_exit", "in-flight",
        "A relaxed arrive does not order the receiver's reads before the next copy.",
        f"{ACK} [%remote_free];", "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, "
        "[%remote_free];",
    ),
]

NAMED_BARRIERS = [
    fault(
        "arrives_at_another_barrier", "named_barriers", "deadlock",
        "The producer arrives at barrier 3, the consumer waits at barrier 1.",
        "bar.arrive 1, 64;", "bar.arrive 3, 64;",
    ),
    fault(
        "more_threads_than_the_cta_has", "named_barriers", "arrivals",
        "The barrier counts 96 threads of a CTA of 64.",
        "bar.sync 1, 64;", "bar.sync 1, 96;",
    ),
    fault(
        "consumer_does_not_wait", "named_barriers", "race",
        "The buffer is read while it may still be written.",
        "  bar.sync 1, 64;\n",
    ),
    fault(
        "buffer_freed_before_the_read", "named_barriers", "race",
        "The buffer is written while it may still be read.",
        "  bar.sync 1, 64;\n  ld.shared.v4.b32 {%x0, %x1, %x2, %x3}, [%at];\n"
        "  st.global.v4.b32 [%global], {%x0, %x1, %x2, %x3};\n  bar.arrive 2, 64;\n",
        "  bar.sync 1, 64;\n  bar.arrive 2, 64;\n"
        "  ld.shared.v4.b32 {%x0, %x1, %x2, %x3}, [%at];\n"
        "  st.global.v4.b32 [%global], {%x0, %x1, %x2, %x3};\n",
    ),
    fault(
        "half_a_warp_at_a_named_barrier", "named_barriers", "divergence",
        "bar.sync is executed by half of a warp.",
        "  bar.sync 1, 64;\n", "  setp.lt.u32 %more, %lane, 16;\n  @%more bar.sync 1, 64;\n",
    ),
    fault(
        "read_beyond_what_was_produced", "named_barriers", "uninitialised-read",
        "The producer's upper half warp writes nothing.",
        "  st.shared.v4.b32 [%at], {%x0, %x1, %x2, %x3};\n",
        "  setp.lt.u32 %more, %lane, 16;\n"
        "  @%more st.shared.v4.b32 [%at], {%x0, %x1, %x2, %x3};\n",
    ),
]

GLOBAL_BULK = [
    fault(
        "exits_before_the_source_is_read", "global_bulk", "early-exit",
        "The last copy to global memory is not waited for.",
        "  cp.async.bulk.wait_group.read 0;\n",
        "  setp.eq.u32 %more, %parity, 0;\n  @%more cp.async.bulk.wait_group.read 0;\n",
    ),
    fault(
        "result_overwritten_too_early", "global_bulk", "in-flight",
        "The result buffer is used again while the copy may still read it.",
        "  cp.async.bulk.wait_group.read 0;\n",
    ),
    fault(
        "one_group_too_many_left", "global_bulk", "in-flight",
        "The wait leaves the one group that there is.",
        "wait_group.read 0;", "wait_group.read 1;",
    ),
    fault(
        "group_not_committed", "global_bulk", "in-flight",
        "A wait covers only committed groups.",
        "  cp.async.bulk.commit_group;\n",
    ),
    fault(
        "result_not_fenced", "global_bulk", "proxy-fence",
        "The result is written by ordinary stores and read through the async proxy.",
        "  fence.proxy.async.shared::cta;\n",
    ),
    fault(
        "loaded_bytes_read_without_a_wait", "global_bulk", "in-flight",
        "The tile is read before it is known to have come.",
        "  @!%ready bra wait_full;\n",
    ),
    fault(
        "load_armed_with_too_few_bytes", "global_bulk", "arrivals",
        "The phase is armed with fewer bytes than are loaded.",
        f"{ARM} [full], 512;", f"{ARM} [full], 256;",
    ),
    fault(
        "global_address_misaligned", "global_bulk", "address",
        "Bulk copies take global addresses that are multiples of 16.",
        "[%dst], [%global_in], 512", "[%dst], [%global_in+8], 512",
    ),
    fault(
        "beyond_the_global_buffer", "global_bulk", "address",
        "The second tile is loaded from behind the input.",
        "add.u64 %global_in, %global_in, 512;", "add.u64 %global_in, %global_in, 1024;",
    ),
]

CTA_MBARRIER = [
    fault(
        "one_warp_does_not_arrive", "cta_mbarrier", "deadlock",
        "The barrier counts 64 threads, 32 of them arrive.",
        "  mbarrier.arrive.shared::cta.b64 %state, [bar];\nwait_first:",
        "  setp.lt.u32 %ready, %thread, 32;\n"
        "  @%ready mbarrier.arrive.shared::cta.b64 %state, [bar];\nwait_first:",
    ),
    fault(
        "more_arrivals_than_counted", "cta_mbarrier", "arrivals",
        "The barrier counts 63 of 64 threads.",
        "init.shared::cta.b64 [bar], 64;", "init.shared::cta.b64 [bar], 63;",
    ),
    fault(
        "init_not_synchronised", "cta_mbarrier", "uninitialised-barrier",
        "Threads arrive before the init is known to have happened.",
        "  bar.sync 0;\n",
    ),
    fault(
        "words_read_without_a_wait", "cta_mbarrier", "race",
        "A thread reads a word that another may not have written.",
        "  @!%ready bra wait_first;\n",
    ),
    fault(
        "words_overwritten_without_a_wait", "cta_mbarrier", "race",
        "A thread overwrites a word that another may not have read.",
        "  @!%ready bra wait_second;\n",
    ),
    fault(
        "barrier_misaligned", "cta_mbarrier", "address",
        "An mbarrier stands at a multiple of 8.",
        "init.shared::cta.b64 [bar], 64;", "init.shared::cta.b64 [bar+4], 64;",
    ),
    fault(
        "store_over_the_barrier", "cta_mbarrier", "address",
        "The last word of the buffer is a word too far and lies in the barrier.",
        "  add.u32 %own, %own, %offset;\n", "  add.u32 %own, %own, %offset;\n"
        "  add.u32 %own, %own, 4;\n",
    ),
]

# fmt: on
FAULTS = [
    *ONE_SHOT,
    *RING,
    *FOUR_BARRIERS,
    *FAN_IN,
    *CHUNKS,
    *ST_ASYNC,
    *RELAY,
    *HAND_OVER,
    *REINIT,
    *ACKNOWLEDGED_EXIT,
    *NAMED_BARRIERS,
    *GLOBAL_BULK,
    *CTA_MBARRIER,
]
