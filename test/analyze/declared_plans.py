# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of a variant from outside, on pairs of layouts, against the oracle of the layouts.

A program of its own, because registration is for the whole process: declared_plans.py CASES
"""

from __future__ import annotations

import sys

import layout_oracle as oracle
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from layout_cases import analyze, side_pairs

import mlir_tile as mt

BATCH = 50
GRANULE_BYTES, MOST_BYTES = 16, 48


def issue(op: object) -> None:
    """Never called: the plans are read, not legalized."""


def check_batch(cases: list[oracle.Case]) -> None:
    for case, (plan, error) in zip(cases, analyze(cases), strict=True):
        if plan is None:
            assert "must nest" in error or oracle.longest_run_bits(case) == 0, (case, error)
            continue
        oracle.check_plan(case, plan)
        assert 0 < plan.chunk_bytes <= MOST_BYTES, (case, plan)
        assert plan.chunk_bytes % GRANULE_BYTES == 0, (case, plan)
        longest = oracle.longest_run_bits(case) // 8
        parts = [n for n in range(GRANULE_BYTES, MOST_BYTES + 1, GRANULE_BYTES) if longest % n == 0]
        counts["copies of the longest allowed" if plan.chunk_bytes == max(parts) else "others"] += 1
        counts["cut" if longest > MOST_BYTES else "whole"] += 1


counts = {"copies of the longest allowed": 0, "others": 0, "cut": 0, "whole": 0}

if __name__ == "__main__":
    # It costs nothing, so that the analysis takes it for every copy.
    mt.register_variant(
        "pieces", issue, granule_bytes=GRANULE_BYTES, max_bytes=MOST_BYTES, cost=mt.Cost()
    )
    settings(
        max_examples=int(sys.argv[1]) // BATCH,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )(given(st.lists(side_pairs(), min_size=BATCH, max_size=BATCH))(check_batch))()
    assert counts["cut"] and counts["whole"]
    # Runs that the swizzles happen to lay side by side may stay shorter.
    assert counts["others"] <= 0.05 * counts["copies of the longest allowed"], counts
    print(counts)
