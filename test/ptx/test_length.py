# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demonstration's kernel in PTX is no longer than the one written by hand in CUDA C++."""

from pathlib import Path

import mlir_tile as mt
import tile_emulator as te

ROOT = Path(__file__).parents[2]
BY_HAND = ROOT / "test" / "emulator" / "ptx" / "demo.ptx"


def instructions(ptx: str, kernel: str) -> int:
    """Return how many instructions a kernel has."""
    return len(te.parse(ptx).kernels[kernel].body or [])


def test_the_demonstration_is_no_longer_than_by_hand() -> None:
    with mt.context():
        compiled = mt.compile(mt.parse_file(ROOT / "examples" / "dsmem_copy.mlir"))
    ours = instructions(compiled.ptx["kernels"], "dsmem_copy")
    by_hand = instructions(BY_HAND.read_text(), "demo_rolled")
    assert 40 < ours <= by_hand, (ours, by_hand)
