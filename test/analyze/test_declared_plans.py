# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of a variant from outside move the right bytes in copies as it declared them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CASES = 1000


def test_declared_copies_move_the_right_bytes(
    record_property: Callable[[str, object], None],
) -> None:
    program = Path(__file__).with_name("declared_plans.py")
    result = subprocess.run(
        [sys.executable, program, str(CASES)], capture_output=True, text=True, timeout=600
    )
    assert result.returncode == 0, result.stderr
    record_property("measured", result.stdout.strip())
