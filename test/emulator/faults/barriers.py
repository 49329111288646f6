# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of barriers inside of a CTA, and of copies from and to global memory."""

from faults.fault import ARM, fault

# One line for the name, one for the reason, one for the edit.
# fmt: off
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
