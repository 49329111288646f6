# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each rule of the machine, broken once: the same kind under every schedule, beside a control."""

from __future__ import annotations

import numpy as np
import pytest
from tile_copy import LINES, run, tile_copy

import tile_emulator as te

SCHEDULES = ["eager", "late", "random:1", "random:2"]

BROKEN = {
    "no_copy": ("deadlock", {"copy": ""}),
    "armed_too_much": ("deadlock", {"arm": LINES["arm"].replace("16384", "16400")}),
    "never_armed": ("deadlock", {"arm": ""}),
    "count_too_high": ("deadlock", {"init": LINES["init"].replace(", 1", ", 2")}),
    "one_warp_not_at_the_barrier": (
        "deadlock",
        {"after": "setp.lt.u32 %more, %thread, 32;\n@%more bra $SKIP;\nbar.sync 0, 128;\n$SKIP:"},
    ),
    "barrier_for_too_many_threads": ("arrivals", {"sync": "bar.sync 0, 160;"}),
    "armed_too_little": ("arrivals", {"arm": LINES["arm"].replace("16384", "16368")}),
    "armed_twice": ("arrivals", {"arm": LINES["arm"] + LINES["arm"]}),
    "armed_by_all": ("arrivals", {"arm": "bar.sync 0;\n" + LINES["arm"].replace("@%arms ", "")}),
    "cluster_arrive_twice": ("arrivals", {"exit_wait": LINES["exit_arrive"]}),
    "no_wait": ("in-flight", {"wait": "", "retry": ""}),
    "wait_not_repeated": ("in-flight", {"retry": ""}),
    "wrong_parity": ("in-flight", {"wait": LINES["wait"].replace(", 0;", ", 1;")}),
    "only_thread_0_waits": (
        "in-flight",
        {"wait": "@%notfirst bra $GO;\n" + LINES["wait"], "retry": LINES["retry"] + "\n$GO:"},
    ),
    "source_overwritten": ("in-flight", {"more": "st.shared.u32 [%src], 1;"}),
    "no_sync_before_copy": ("in-flight", {"sync": ""}),
    "copied_twice": ("in-flight", {"copy": LINES["copy"] + LINES["copy"]}),
    "issued_by_all": ("in-flight", {"guard": ""}),
    "no_proxy_fence": ("proxy-fence", {"fence": ""}),
    "proxy_fence_of_one_thread": ("proxy-fence", {"fence": "@%first fence.proxy.async;"}),
    "no_barrier_at_exit": ("early-exit", {"exit_arrive": "", "exit_wait": ""}),
    "no_barrier_at_entry": ("not-started", {"entry_arrive": "", "entry_wait": "bar.sync 0;"}),
    "no_init": ("uninitialised-barrier", {"init": ""}),
    "relaxed_entry_without_init_fence": (
        "uninitialised-barrier",
        {"fence_init": "", "entry_arrive": "barrier.cluster.arrive.relaxed.aligned;"},
    ),
    "initialised_twice": ("uninitialised-barrier", {"init": LINES["init"] + LINES["init"]}),
    "size_not_of_16": ("address", {"copy": LINES["copy"].replace("16384", "16376")}),
    "size_zero": ("address", {"copy": LINES["copy"].replace("16384", "0")}),
    "size_out_of_range": ("address", {"copy": LINES["copy"].replace("16384", "32768")}),
    "rank_outside": ("address", {"map_dst": LINES["map_dst"].replace(", 1;", ", 2;")}),
    "destination_not_mapped": ("address", {"map_dst": "mov.u32 %rdst, %dst;"}),
    "barrier_not_mapped": ("address", {"map_bar": "mov.u32 %rbar, %bar;"}),
    "own_cta": (
        "deadlock",
        {
            "map_dst": LINES["map_dst"].replace(", 1;", ", 0;"),
            "map_bar": LINES["map_bar"].replace(", 1;", ", 0;"),
        },
    ),
    "local_form_on_mapped_barrier": (
        "address",
        {"more": "mbarrier.arrive.shared::cta.b64 _, [%rbar];"},
    ),
    "destination_not_aligned": (
        "address",
        {"map_bar": LINES["map_bar"] + "add.u32 %rdst, %rdst, 8;"},
    ),
    "expects_too_much": ("address", {"arm": LINES["arm"].replace("16384", "1048576")}),
    "store_on_barrier": ("address", {"after": "st.shared.u32 [%bar], 1;"}),
    "divergent_barrier": ("divergence", {"sync": "@%first bar.sync 0;"}),
    "source_never_written": (
        "uninitialised-read",
        {"map_bar": LINES["map_bar"] + "add.u32 %src, %src, 16;"},
    ),
    "plain_race": (
        "race",
        {"sync": "ld.shared.u32 %v0, [%src];\n bar.sync 0;", "fence": "fence.proxy.async;"},
    ),
}

CORRECT = {
    "as_it_is": {},
    "fence_by_the_issuer_after_the_sync": {"fence": "", "sync": "bar.sync 0;\nfence.proxy.async;"},
    "armed_by_the_sender_side_later": {
        "arm": "",
        "wait": "@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 16384;\n$AGAIN:\n"
        + LINES["wait"],
        "retry": "@!%done bra $AGAIN;",
    },
    "relaxed_entry_with_init_fence": {
        "entry_arrive": "barrier.cluster.arrive.relaxed.aligned;",
        "arm": "@%arms mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 16384;\nbar.sync 0;",
    },
    "test_wait": {"wait": LINES["wait"].replace("try_wait", "test_wait")},
    "in_two_halves": {
        "copy": LINES["copy"].replace("16384", "8192")
        + "add.u32 %rdst, %rdst, 8192; add.u32 %src, %src, 8192;"
        + LINES["copy"].replace("16384", "8192")
    },
    "source_overwritten_after_the_cluster_barrier": {
        "exit_wait": LINES["exit_wait"] + "@%sends st.shared.u32 [%src], 1;" * 1,
    },
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", CORRECT)
def test_correct_kernels_report_nothing(case: str, schedule: str) -> None:
    a, b = run(tile_copy(**CORRECT[case]), schedule=schedule)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", BROKEN)
def test_one_broken_line_is_reported_under_its_kind(case: str, schedule: str) -> None:
    kind, changes = BROKEN[case]
    ptx = tile_copy(**changes)
    with pytest.raises(te.EmulationError) as caught:
        run(ptx, schedule=schedule)
    error = caught.value
    assert error.kind == kind, str(error)
    assert str(error).startswith(f"[{kind}] ")
    assert error.advice
    assert error.ptx_line is not None
    assert error.cta is not None and error.thread is not None
