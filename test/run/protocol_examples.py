# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of the protocol: their data, and each with one line of its protocol broken."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

FOLDER = Path(__file__).parents[2] / "examples"
Array = np.ndarray


@dataclass(frozen=True)
class Example:
    """An example by name: the shapes of its two arguments, and what it makes of the first."""

    name: str
    given: tuple[int, ...]
    made: tuple[int, ...]
    expected: Callable[[Array], Array]

    @property
    def text(self) -> str:
        return (FOLDER / f"{self.name}.mlir").read_text()

    @property
    def module(self) -> ModuleType:
        """The example built in Python, imported."""
        spec = importlib.util.spec_from_file_location(self.name, FOLDER / f"{self.name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def arguments(self, seed: int) -> tuple[Array, Array]:
        draw = np.random.default_rng(seed)
        given = draw.integers(-(2**31), 2**31, self.given, np.int64).astype(np.int32)
        return given, np.zeros(self.made, np.int32)


def sum_of_the_others(a: Array) -> Array:
    return a[1:].sum(axis=0, dtype=np.int32)


EXAMPLES = [
    Example("ring", (4, 6, 128), (4, 6, 128), lambda a: np.roll(a, 1, axis=0)),
    Example("fan_in", (4, 128), (128,), sum_of_the_others),
    Example("all_gather", (8, 128), (8, 8, 128), lambda a: np.broadcast_to(a, (8, 8, 128))),
]

# A line of the protocol. The two halves of a cluster barrier stand on lines of their own.
PROTOCOL_LINE = re.compile(
    r"^ *(?:nvgpu\.mbarrier\.init|nvvm\.|gpu\.barrier|tile\.(?:arrive|copy_async|expect|wait))"
)

# What else goes wrong in a line: another count, parity, rank or barrier, and more threads.
ALTERATIONS = [
    (r"(mbarrier\.init .*), %c1 :", r"\1, %c2 :"),
    (r"parity\(%parity\)", "parity(%free_parity)"),
    (r"parity\(%free_parity\)", "parity(%parity)"),
    (r"parity\(%parity\)", "parity(%false)"),
    (r"(%first = arith\.constant) false", r"\1 true"),
    (r"cta\(%next\)", "cta(%previous)"),
    (r"cta\(%previous\)", "cta(%next)"),
    (r"mbarrier\(%full\[%stage\]\)", "mbarrier(%free[%stage])"),
    (r"(tile\.arrive) %free", r"\1 %full"),
    (r"(tile\.expect .*) for %dst : !barriers, !slots", r"\1 for %src : !barriers, !tile"),
    (r"(tile\.expect .*) for %theirs : !barriers, !slots", r"\1 for %mine : !barriers, !tile"),
    (r"(for %theirs) : !barriers, !tile$", r"\1, %mine : !barriers, !tile, !tile"),
]


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """Yield a name and the text for each kernel with one line of the protocol broken."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        before, after = "".join(lines[:number]), "".join(lines[number + 1 :])
        place = f"{line.split()[0] if line.strip() else ''} in line {number + 1}"
        if PROTOCOL_LINE.match(line):
            yield f"without {place}", before + after
        if line.strip() == "nvvm.cluster.arrive":
            yield f"without both halves of {place}", before + "".join(lines[number + 2 :])
        for pattern, replacement in ALTERATIONS:
            altered = re.sub(pattern, replacement, line)
            if altered != line and not undefined(altered, before):
                yield (
                    f"with {altered.strip().split(' : ')[0]} in line {number + 1}",
                    (before + altered + after),
                )


def undefined(line: str, before: str) -> bool:
    """Whether the line uses a value that nothing before it defines."""
    names = re.findall(r"%\w+", line.partition("=")[2] or line)
    return any(f"{name} =" not in before and f"{name}:" not in before for name in names)
