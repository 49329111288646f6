# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of a single copy and the wait for it."""

from faults.fault import ARM, BULK, ENTRY, EXIT, WAIT, fault

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
        "copy_to_own_cta", "one_shot", "deadlock",
        "The peer is the sender itself: the bytes never come to CTA 1.",
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
