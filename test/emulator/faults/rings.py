# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of buffers that are used again: stages, parities and acknowledgements."""

from faults.fault import ACK, ARM, EXIT, fault, strict

# One line for the name, one for the reason, one for the edit.
# fmt: off
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
