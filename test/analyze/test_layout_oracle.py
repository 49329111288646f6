# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The analysis against the oracle, on pairs of layouts drawn from one permutation of bytes.

`--cases N` draws N new ones in the place of the same 10,000 of every run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import layout_oracle as oracle
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from layout_cases import analyze, is_whole, side_pairs, unlike_factors

BATCH = 50
CASES = 10_000
seen: Counter[str] = Counter()


def features(case: oracle.Case) -> list[str]:
    """Name what a case has that could go wrong."""
    sides = (case.src, case.dst)
    names = [f"element {case.element}"]
    if any(side.swizzle for side in sides):
        names.append("swizzle alike" if case.src.swizzle == case.dst.swizzle else "swizzle unlike")
    if any(len(modes) > 1 for side in sides for modes in side.dimensions):
        names.append("nested")
    if case.src.dimensions != case.dst.dimensions:
        names.append("layouts differ")
    if any(side.offset for side in sides):
        names.append("offset")
    if not is_whole(case.src):
        names.append("slice")
    return names


def check_batch(cases: list[oracle.Case]) -> None:
    for case, (plan, error) in zip(cases, analyze(cases), strict=True):
        seen["all"] += 1
        best = oracle.longest_run_bits(case)
        if plan is None:
            if "must nest" in error:
                # Runs there may be, but in no order that loops have.
                assert not oracle.has_plan(case), (case, error)
                seen["boundaries do not nest"] += 1
            elif oracle.overlaps(case.dst):
                seen["overlapping"] += 1
            else:
                assert best == 0, (case, error)
                seen["declined"] += 1
            continue
        oracle.check_plan(case, plan)
        if plan.chunk_bytes * 8 != best:
            # Runs that the swizzles happen to lay side by side, in no order that loops have.
            assert best % (plan.chunk_bytes * 8) == 0, (case, plan, best)
            assert not oracle.can_be_written(case, best), (case, plan, best)
            seen["longer runs are no loops"] += 1
        seen["accepted"] += 1
        seen.update(features(case))


def test_plans_move_the_right_bytes_in_the_fewest_copies_of_one_size(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    asked = request.config.getoption("--cases")
    # One in ten factors its extents in two ways.
    cases = st.one_of(*[side_pairs()] * 9, unlike_factors())
    drawn = settings(
        max_examples=(asked or CASES) // BATCH,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=asked is None,
        database=None,
        phases=[Phase.generate],
    )(given(st.lists(cases, min_size=BATCH, max_size=BATCH))(check_batch))
    drawn()
    shares = (f"{name} {count / seen['all']:.1%}" for name, count in sorted(seen.items()))
    record_property("measured", f"{seen['all']} copies: {', '.join(shares)}")
    assert seen["longer runs are no loops"] <= 0.02 * seen["all"]
    assert seen["accepted"] >= 0.4 * seen["all"]
    for feature in ("swizzle alike", "swizzle unlike", "nested", "offset", "slice", "element i4"):
        assert seen[feature] > 0, feature
    assert seen["boundaries do not nest"] > 0
