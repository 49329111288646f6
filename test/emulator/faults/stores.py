# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of what threads store into a peer: st.async, and ordinary stores handed over."""

from faults.fault import ACK, ARM, ENTRY, WAIT, fault

# One line for the name, one for the reason, one for the edit.
# fmt: off
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
        "sent_to_own_cta", "st_async", "deadlock",
        "The peer is the sender itself: the bytes never come to CTA 1.",
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
