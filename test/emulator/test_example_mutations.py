# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PTX of each example passes; with a synchronisation line broken it is reported, or listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from faults.equivalent import EXAMPLES as EQUIVALENT
from faults.equivalent import listed
from faults.mutate import Mutant, mutants

import tile_emulator as te

mt = pytest.importorskip("mlir_tile")

FOLDER = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Example:
    """A kernel that makes its second argument, a memref, of its first."""

    name: str
    given: npt.NDArray[np.generic]
    made: npt.NDArray[np.generic]
    cluster: int
    threads: int


def words(*shape: int) -> npt.NDArray[np.int32]:
    """Return an array of random 32-bit words."""
    return np.random.default_rng(3).integers(-(2**31), 2**31, shape, np.int64).astype(np.int32)


TILE = words(128, 32).view(np.uint16)
RING, FAN_IN, ALL_GATHER = words(4, 6, 128), words(4, 128), words(8, 128)

CASES = {
    example.name: example
    for example in (
        Example("dsmem_copy", TILE, TILE, cluster=2, threads=128),
        Example("ring", RING, np.roll(RING, 1, axis=0), cluster=4, threads=64),
        Example("fan_in", FAN_IN, FAN_IN[1:].sum(axis=0, dtype=np.int32), cluster=4, threads=64),
        Example("all_gather", ALL_GATHER, np.stack([ALL_GATHER] * 8), cluster=8, threads=64),
    )
}


@cache
def ptx(name: str) -> str:
    """Compile each example once."""
    with mt.context():
        module = mt.parse((FOLDER / f"{name}.mlir").read_text(encoding="utf-8"))
        (text,) = mt.compile(module).ptx.values()
    return str(text)


def memref(address: int, shape: tuple[int, ...]) -> Iterator[bytes]:
    """Yield the parameters of a dense memref: two pointers, offset, sizes, strides."""
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    for value in (address, address, 0, *shape, *strides):
        yield value.to_bytes(8, "little")


def run(example: Example, text: str, schedule: str, checks: str = "default") -> bool:
    """Run the kernel; returns whether the bytes are right."""
    device = te.Device(schedule=schedule, checks=checks, max_steps=100_000, max_seconds=600)
    source, target = device.alloc(example.given.nbytes), device.alloc(example.made.nbytes)
    device.write(source, example.given.tobytes())
    module = te.parse(text)
    device.launch(
        module,
        next(iter(module.kernels)),
        grid=example.cluster,
        block=example.threads,
        cluster=example.cluster,
        args=[*memref(source, example.given.shape), *memref(target, example.made.shape)],
    )
    return bytes(device.read(target, example.made.nbytes)) == example.made.tobytes()


def test_every_example_of_a_copy_to_a_peer_is_here() -> None:
    copying = {
        path.stem
        for path in FOLDER.glob("*.mlir")
        if re.search(r"tile\.copy_async [^\n]* cta\(", path.read_text())
    }
    assert copying == set(CASES)


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1", "explore:4"])
@pytest.mark.parametrize("name", CASES)
def test_an_example_is_not_reported(name: str, schedule: str) -> None:
    assert run(CASES[name], ptx(name), schedule)


@pytest.mark.parametrize("name", CASES)
def test_each_mutant_is_reported_or_listed(name: str) -> None:
    equivalent = listed(EQUIVALENT, name)
    wrong: list[str] = []
    found: set[str] = set()
    for mutant in mutants(ptx(name)):
        found.add(mutant.name)
        kind = report(CASES[name], mutant)
        if (kind is None) != (mutant.name in equivalent):
            wrong.append(f"{mutant.name}: {kind}")
    assert not wrong
    assert equivalent <= found


def report(example: Example, mutant: Mutant) -> str | None:
    """Return the kind of a mutant's report; one without a report must write the right bytes."""
    try:
        assert run(example, mutant.text, "eager"), f"wrong bytes without a report: {mutant.name}"
    except te.EmulationError as error:
        return error.kind
    return None
