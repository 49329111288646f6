# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each synchronisation line deleted or altered in turn is reported, or listed with a reason."""

from __future__ import annotations

import pytest
from faults.equivalent import EQUIVALENT, STRICT_ONLY, listed
from faults.kernels import KERNELS, run
from faults.mutate import Mutant, mutants

import tile_emulator as te

MUTANTS = [(name, mutant) for name in KERNELS for mutant in mutants(KERNELS[name].text)]


def reported(kernel: str, mutant: Mutant, schedule: str, checks: str) -> str | None:
    """Return the kind of the report, or None where the mutant writes the right bytes."""
    try:
        result = run(KERNELS[kernel], mutant.text, schedule, checks)
    except te.EmulationError as error:
        return error.kind
    assert result == KERNELS[kernel].expected(KERNELS[kernel].data), "wrong bytes without a report"
    return None


UNREPORTED = (None, "step-limit", "time-limit")


@pytest.mark.parametrize(
    ("kernel", "mutant"), [pytest.param(k, m, id=f"{k}-{m.name}") for k, m in MUTANTS]
)
def test_a_mutant_is_reported_or_listed(kernel: str, mutant: Mutant) -> None:
    if mutant.name in listed(EQUIVALENT, kernel):
        for schedule in ("eager", "late", "random:5"):
            assert reported(kernel, mutant, schedule, "strict") is None
    elif mutant.name in listed(STRICT_ONLY, kernel):
        assert reported(kernel, mutant, "eager", "default") is None
        assert reported(kernel, mutant, "eager", "strict") not in UNREPORTED
    else:
        assert reported(kernel, mutant, "eager", "default") not in (
            None,
            "step-limit",
            "time-limit",
        )


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_tables_list_mutants_that_exist(kernel: str) -> None:
    names = {mutant.name for name, mutant in MUTANTS if name == kernel}
    assert listed(EQUIVALENT, kernel) | listed(STRICT_ONLY, kernel) <= names
    assert not listed(EQUIVALENT, kernel) & listed(STRICT_ONLY, kernel)


def test_the_tables_name_kernels_that_exist() -> None:
    for table in (EQUIVALENT, STRICT_ONLY):
        for kernels in table.values():
            assert set(kernels) <= set(KERNELS)


def test_a_kernel_without_synchronisation_has_no_mutants() -> None:
    assert not list(mutants("  add.u32 %a, %b, 1;\n  ld.shared.b32 %a, [%b];\n"))
