# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever comes in, a tool ends: with 0, or with 1 and an error that names its place.

Each target has the same few inputs in every run, and those in `corpus/TARGET` that once failed.
`--fuzz-minutes M` draws others for M minutes a target, and `-k TARGET` chooses one; what is found
is shrunk and printed, to be kept as a file of the corpus.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from targets import TARGETS
from worker import Outcome, Worker

CORPUS = Path(__file__).parent / "corpus"
BATCH = 200


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


def check(target: str, data: bytes, outcome: Outcome) -> None:
    """Assert that a run ended as every run has to."""
    said = f"{outcome.stderr}\ninput of target {target}: {data!r}"
    assert outcome.status in (0, 1, 2), said
    assert "Traceback" not in outcome.stderr, said
    assert "raised" not in outcome.stderr, said
    if outcome.status == 1:
        assert "error: " in outcome.stderr, said
        assert re.search(TARGETS[target].place, outcome.stderr, re.MULTILINE), said
    if outcome.status == 2:
        assert "usage: " in outcome.stderr, said


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_input_ends_in_an_error_that_names_its_place(
    target: str,
    worker: Worker,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    minutes = request.config.getoption("--fuzz-minutes")
    ended: dict[int, int] = {0: 0, 1: 0, 2: 0}

    def one(data: bytes) -> None:
        outcome = worker.run(target, data)
        check(target, data, outcome)
        ended[outcome.status] += 1

    until = time.monotonic() + 60 * (minutes or 0)
    first = int(time.time())
    while True:
        drawn = settings(
            max_examples=BATCH if minutes else TARGETS[target].examples,
            deadline=None,
            derandomize=not minutes,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
        )(given(TARGETS[target].strategy)(one))
        if minutes:
            drawn = seed(first)(drawn)
            first += 1
        drawn()
        if time.monotonic() >= until:
            break
    total = sum(ended.values())
    record_property("measured", f"{total} inputs, {ended[0]} accepted")
    assert ended[1] > 0, "nothing was refused: the inputs are too tame"


@pytest.mark.parametrize(
    "file",
    [file for target in TARGETS for file in sorted((CORPUS / target).glob("*"))],
    ids=lambda file: f"{file.parent.name}-{file.name}",
)
def test_what_once_failed(file: Path, worker: Worker) -> None:
    target = file.parent.name
    data = file.read_bytes()
    check(target, data, worker.run(target, data))


def test_a_worker_that_dies_is_reported_and_replaced(worker: Worker) -> None:
    from worker import Died

    with pytest.raises(Died, match="ended with"):
        worker.run("no such target", b"")
    assert worker.run("argument", b"zeros:2xf32").status == 0
