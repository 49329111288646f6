# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that benchmarks/dsmem.py times, on the emulator: every byte is right."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from cases import Case, Layout, drawn_cases, fixed_cases, ring_cases
from copy_program import program
from dsmem import kernels, measured, plan_of

import mlir_tile as mt

FIXED = {case.name: case for case in fixed_cases()}
RUNS = [
    (FIXED["contiguous"], "thread"),
    (FIXED["chunks_256"], "warp"),
    (FIXED["to_swizzled"], "cta"),
    (FIXED["row_to_column_f32"], "cta"),
    (next(drawn_cases(1)), "cta"),
    *((case, "warp") for case in ring_cases() if case.cluster <= 4),
]


@pytest.mark.parametrize(("case", "issue"), RUNS, ids=lambda x: getattr(x, "name", x))
def test_every_byte_arrives(case: Case, issue: str) -> None:
    threads = 64 if issue == "cta" else 32
    found = measured(case, issue, threads, 2, 4, ctas=case.cluster or 2, device="emulator", runs=1)
    assert found["clk"] > 0


@pytest.mark.parametrize("reads", ["plain", "fenced"])
def test_rings_that_read_their_tiles(reads: str) -> None:
    """Every byte arrives, and a fence of the reads is there or not, as asked."""
    case = next(ring_cases())
    found = measured(case, "warp", 32, 2, 4, device="emulator", runs=1, reads=reads)
    assert found["clk"] > 0
    fences = program(case, "warp", 32, 2, 4, reads=reads).count("nvvm.fence.proxy")
    assert fences == (3 if reads == "fenced" else 1)


def test_wrong_bytes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a tile that is expected where it was not sent ends the benchmark."""
    case = next(drawn_cases(1))
    monkeypatch.setattr(Layout, "places", lambda self: np.zeros(self.shape, np.int64))
    with pytest.raises(SystemExit, match="wrong bytes"):
        measured(case, "warp", 32, 1, 4, device="emulator", runs=1)


def test_draws_depend_on_the_seed_alone() -> None:
    assert list(drawn_cases(5)) == list(drawn_cases(5))
    assert list(drawn_cases(5)) != list(drawn_cases(6))
    for seed in range(40):
        for case in drawn_cases(seed):
            assert 4096 <= case.tile_bytes <= 32768
            assert case.chunk_bytes % 16 == 0 and min(case.pitch_bytes) >= case.chunk_bytes


def test_a_variant_can_be_forced() -> None:
    with mt.context():
        for variant in ("bulk", "st_async"):
            text = program(FIXED["chunks_64"], "cta", 256, 2, 4, variant=variant)
            assert plan_of(mt.parse(text))["variant"] == variant


COMPILED = [(case, known) for case in FIXED.values() for known, _, _ in kernels(case, False)]


@pytest.mark.parametrize(("case", "issue"), COMPILED, ids=lambda x: getattr(x, "name", x))
def test_addresses_stay_in_shared_memory(case: Case, issue: str) -> None:
    """No address makes a round trip through the generic space, and nothing is spilled."""
    threads = 256 if issue == "cta" else 32
    with mt.context():
        ptx = mt.compile(mt.parse(program(case, issue, threads, 2, 4))).ptx["kernels"]
    assert ".local" not in ptx
    assert not re.search(r"cvta\.(?!to\.global)", ptx)
    assert ptx.count("mapa.shared::cluster") <= 6, "two for each copy, two for the arrivals"
