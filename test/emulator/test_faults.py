# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every fault is reported under its own kind under every schedule; its correct twin passes."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from faults.kernels import KERNELS, SCHEDULES, run
from faults.table import FAULTS, Fault

import tile_emulator as te

PTXAS = shutil.which("ptxas")
KINDS = set(te.KINDS) - {"step-limit", "time-limit", "trap"}


def broken(fault: Fault) -> str:
    """Apply the edit of `fault`."""
    text = KERNELS[fault.kernel].text
    assert text.count(fault.old) == 1, f"the edit must match once, got {text.count(fault.old)}"
    return text.replace(fault.old, fault.new)


@pytest.mark.parametrize("checks", ["default", "strict"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", KERNELS)
def test_a_correct_kernel_is_not_reported(name: str, schedule: str, checks: str) -> None:
    kernel = KERNELS[name]
    assert run(kernel, kernel.text, schedule, checks) == kernel.expected(kernel.data)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kernel}-{fault.name}")
def test_a_fault_is_reported_under_its_kind(fault: Fault, schedule: str) -> None:
    checks = "strict" if fault.strict else "default"
    with pytest.raises(te.EmulationError) as caught:
        run(KERNELS[fault.kernel], broken(fault), schedule, checks)
    assert caught.value.kind == fault.kind, str(caught.value)


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if f.strict], ids=lambda fault: f"{fault.kernel}-{fault.name}"
)
def test_a_strict_fault_passes_the_default_checks(fault: Fault) -> None:
    kernel = KERNELS[fault.kernel]
    assert run(kernel, broken(fault), "explore:4") == kernel.expected(kernel.data)


def test_a_deadlock_at_a_polling_loop_names_the_barrier() -> None:
    (fault,) = (f for f in FAULTS if f.name == "one_warp_does_not_arrive")
    with pytest.raises(te.EmulationError, match="32 of 64 arrivals"):
        run(KERNELS[fault.kernel], broken(fault), "eager")


def test_the_table_covers_every_kind() -> None:
    assert {fault.kind for fault in FAULTS} == KINDS


def test_the_table_names_each_fault_and_each_edit_once() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.kernel, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.skipif(PTXAS is None, reason="no ptxas on PATH")
@pytest.mark.parametrize("name", KERNELS)
def test_ptxas_takes_the_correct_kernel(name: str) -> None:
    assert PTXAS is not None
    command = [PTXAS, "-arch=sm_90a", "-o", "/dev/null", str(KERNELS[name].path)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
