# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of the protocol run right under every schedule, and no broken one goes unnoticed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mlir import ir
from mlir.passmanager import PassManager
from protocol_examples import EXAMPLES, Example, mutants

import mlir_tile as mt

SCHEDULES = ["eager", "late", "random:1", "explore:100"]

CHECK = "builtin.module(tile-analyze-layout, tile-check-sync{error=true})"

MUTANTS = {
    f"{example.name} {name}": (example, text)
    for example in EXAMPLES
    for name, text in mutants(example.text)
}


def by_name(example: Example) -> str:
    return example.name


def run(executable: mt.runtime.Executable, example: Example, seed: int, **options: object) -> None:
    given, made = example.arguments(seed)
    executable.invoke("main", given, made, **options)
    np.testing.assert_array_equal(made, example.expected(given))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_the_text_runs_right(example: Example, schedule: str) -> None:
    with mt.context():
        executable = mt.compile(mt.parse(example.text))
    run(executable, example, 1, device="emulator", schedule=schedule)


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_the_one_built_in_python_runs_right(example: Example) -> None:
    with mt.context(), ir.Location.unknown():
        executable = mt.compile(example.module.build())
    run(executable, example, 2, device="emulator")


@pytest.mark.gpu
@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_it_runs_right_on_the_gpu_a_thousand_times(example: Example) -> None:
    with mt.context():
        executable = mt.compile(mt.parse(example.text))
    for seed in range(1000):
        run(executable, example, seed, device="cuda", timeout=600)


@pytest.mark.parametrize("example", EXAMPLES, ids=by_name)
def test_the_checker_raises_no_false_alarm(example: Example) -> None:
    assert check(example.text) == ""


ONLY_STRICT = {"ring without nvvm.fence.proxy in line 67"}
"""Fences between loads and the next copy over what they read, which only strict checks ask for."""


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in ONLY_STRICT])
def test_a_broken_line_is_reported(name: str) -> None:
    example, text = MUTANTS[name]
    said = check(text)
    with mt.context(), warnings.catch_warnings():
        warnings.simplefilter("ignore", mt.CompileWarning)  # check() has them
        executable = mt.compile(mt.parse(text))
    try:
        run(executable, example, 3, device="emulator", timeout=600)
    except mt.Error as error:
        said += str(error)
    assert said


def check(text: str) -> str:
    """Return what `tile-check-sync` says, as errors."""
    with mt.context():
        module = mt.parse(text)
        try:
            PassManager.parse(CHECK).run(module.operation)
        except ir.MLIRError as error:
            return str(error)
    return ""
