# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of several copies: a barrier for each, one for all, and tiles in chunks."""

from faults.fault import ARM, BULK, fault

# One line for the name, one for the reason, one for the edit.
# fmt: off
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
