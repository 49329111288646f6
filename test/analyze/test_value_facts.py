# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is proved of run-time numbers, against every value that they can have.

Expressions are drawn over short integers and executed as `arith` defines them, wrapping around.
Their parameters take all of their values. `--cases N` draws N expressions.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile._tile import value_facts

CASES = 800


class Undefined(Exception):
    """The operation is undefined, or its result poison: anything may be proved of it."""


def signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def truncated(number: int, width: int) -> int:
    return number & ((1 << width) - 1)


def rounded_down(a: int, b: int) -> int:
    return a // b


def rounded_to_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rounded_up(a: int, b: int) -> int:
    return -(-a // b)


SUMS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
}
SIGNED: dict[str, Callable[[int, int], int]] = {
    "divsi": rounded_to_zero,
    "floordivsi": rounded_down,
    "ceildivsi": rounded_up,
    "remsi": lambda a, b: a - rounded_to_zero(a, b) * b,
    "minsi": min,
    "maxsi": max,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": rounded_down,
    "ceildivui": rounded_up,
    "remui": lambda a, b: a % b,
    "minui": min,
    "maxui": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
SHIFTS = ("shli", "shrui", "shrsi")
DIVISIONS = ("divsi", "floordivsi", "ceildivsi", "remsi", "divui", "ceildivui", "remui")
EXACT = ("divui", "divsi", "shrui", "shrsi")
FLAGS = ("nsw", "nuw")


@dataclass(frozen=True)
class Node:
    """An operation on bits: `name` with flags, of `width`, or a parameter or constant."""

    name: str
    width: int
    operands: tuple[Node, ...] = ()
    flags: tuple[str, ...] = ()
    number: int = 0


def evaluate(node: Node, parameters: tuple[int, ...]) -> int:
    """Return the bits of the result, or raise Undefined."""
    if node.name == "parameter":
        return parameters[node.number]
    if node.name == "constant":
        return truncated(node.number, node.width)
    operands = [evaluate(operand, parameters) for operand in node.operands]
    widths = [operand.width for operand in node.operands]
    if node.name == "select":
        return operands[1] if operands[0] else operands[2]
    if node.name in ("extsi", "index_cast"):
        return truncated(signed(operands[0], widths[0]), node.width)
    if node.name in ("extui", "index_castui"):
        return truncated(operands[0], node.width)
    if node.name == "trunci":
        bits = truncated(operands[0], node.width)
        wraps = {
            "nsw": signed(bits, node.width) != signed(operands[0], widths[0]),
            "nuw": bits != operands[0],
        }
        if any(wraps[flag] for flag in node.flags):
            raise Undefined
        return bits
    a, b = operands
    width = node.width
    if node.name in SHIFTS:
        return shifted(node, a, b)
    if node.name in DIVISIONS and b == 0:
        raise Undefined
    if node.name in SUMS:
        exact = {
            "nsw": SUMS[node.name](signed(a, width), signed(b, width)),
            "nuw": SUMS[node.name](a, b),
        }
        bits = truncated(exact["nuw"], width)
        read = {"nsw": signed(bits, width), "nuw": bits}
        if any(exact[flag] != read[flag] for flag in node.flags):
            raise Undefined
        return bits
    if node.name in SIGNED:
        a, b = signed(a, width), signed(b, width)
        result = SIGNED[node.name](a, b)
        if signed(truncated(result, width), width) != result:
            raise Undefined
    else:
        result = UNSIGNED[node.name](a, b)
    if "exact" in node.flags and a % b != 0:
        raise Undefined
    return truncated(result, width)


def shifted(node: Node, a: int, b: int) -> int:
    width = node.width
    if b >= width:
        raise Undefined
    if node.name == "shli":
        bits = truncated(a << b, width)
        wraps = {"nsw": signed(bits, width) != signed(a, width) << b, "nuw": bits != a << b}
        if any(wraps[flag] for flag in node.flags):
            raise Undefined
        return bits
    if "exact" in node.flags and a % (1 << b):
        raise Undefined
    return truncated((signed(a, width) if node.name == "shrsi" else a) >> b, width)


def draw(rng: random.Random, width: int, depth: int) -> Node:
    """Draw an expression of `width` bits over two parameters of 5 bits."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.5:
            numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 24, 48, -1, -4, -8, 1 << (width - 1)]
            return Node("constant", width, number=rng.choice(numbers))
        parameter = Node("parameter", 5, number=rng.randrange(2))
        return parameter if width == 5 else resized(rng, parameter, width)
    kind = rng.random()
    if kind < 0.15:
        inner = rng.choice([other for other in (4, 5, 7, 8) if other != width])
        return resized(rng, draw(rng, inner, depth - 1), width)
    if kind < 0.22:
        choice = resized(rng, Node("parameter", 5, number=rng.randrange(2)), 1)
        return Node("select", width, (choice, *(draw(rng, width, depth - 1) for _ in range(2))))
    name = rng.choice([*SUMS, *SUMS, *SUMS, *SHIFTS, *SHIFTS, *SIGNED, *UNSIGNED])
    operands = [draw(rng, width, depth - 1) for _ in range(2)]
    if name in DIVISIONS and rng.random() < 0.8:
        operands[1] = Node("constant", width, number=rng.choice([1, 2, 3, 4, 6, 8, 12, -2, -3]))
    if name in SHIFTS and rng.random() < 0.8:
        operands[1] = Node("constant", width, number=rng.randrange(width))
    possible = FLAGS if name in (*SUMS, "shli") else ("exact",) if name in EXACT else ()
    flags = tuple(flag for flag in possible if rng.random() < 0.15)
    return Node(name, width, tuple(operands), flags)


def resized(rng: random.Random, node: Node, width: int) -> Node:
    if width > node.width:
        return Node(rng.choice(["extsi", "extui"]), width, (node,))
    flags = tuple(flag for flag in FLAGS if rng.random() < 0.15)
    return Node("trunci", width, (node,), flags)


def build(node: Node, lines: list[str]) -> str:
    """Write the operations of an expression, and return the name of its value."""
    if node.name == "parameter":
        return f"%p{node.number}"
    names = [build(operand, lines) for operand in node.operands]
    name = f"%v{len(lines)}"
    type_ = type_of(node)
    if node.name == "constant":
        number = signed(truncated(node.number, node.width), node.width)
        number = -number if node.width == 1 else number
        lines.append(f"{name} = arith.constant {number} : {type_}")
        return name
    flags = ""
    if node.flags and node.flags != ("exact",):
        flags = f" overflow<{', '.join(node.flags)}>"
    elif node.flags:
        flags = " exact"
    operands = ", ".join(names)
    casts = ("extsi", "extui", "trunci", "index_cast", "index_castui")
    types = f"{type_of(node.operands[0])} to {type_}" if node.name in casts else type_
    lines.append(f"{name} = arith.{node.name} {operands}{flags} : {types}")
    return name


def type_of(node: Node) -> str:
    return "index" if node.width == 64 else f"i{node.width}"


def facts_of(text: str, parameters: str) -> tuple[int, tuple[int, int] | None, tuple[int, int]]:
    """Return what is proved of the value that the last line makes."""
    module = ir.Module.parse(f"func.func @f({parameters}) {{\n{text}\nreturn\n}}")
    *_, last, _ = module.body.operations[0].regions[0].blocks[0].operations
    facts: tuple[int, tuple[int, int] | None, tuple[int, int]] = value_facts(last.results[0])
    return facts


def parameters_of(node: Node) -> set[int]:
    if node.name == "parameter":
        return {node.number}
    return set().union(*map(parameters_of, node.operands))


def values_of(node: Node) -> set[int]:
    """Return all values of an expression, read with a sign."""
    values = set()
    used = parameters_of(node)
    every = [range(32) if number in used else (0,) for number in range(2)]
    for parameters in itertools.product(*every):
        try:
            values.add(signed(evaluate(node, parameters), node.width))
        except Undefined:
            continue
    return values


def test_what_is_proved_holds_for_every_value(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    asked = request.config.getoption("--cases")
    rng = random.Random() if asked else random.Random(1)
    seen: Counter[str] = Counter()
    with mt.context():
        for _ in range(asked or CASES):
            node = draw(rng, rng.choice([4, 5, 7, 8]), rng.randint(1, 4))
            values = values_of(node)
            lines: list[str] = []
            build(node, lines)
            if not lines:
                continue
            text = "\n".join(lines)
            divisor, bounds, (modulus, residue) = facts_of(text, "%p0: i5, %p1: i5")
            seen["drawn"] += 1
            for value in values:
                assert value % divisor == 0 if divisor else value == 0, (text, divisor, value)
                assert value % modulus == residue, (text, modulus, residue, value)
                if bounds:
                    assert bounds[0] <= value <= bounds[1], (text, bounds, value)
            seen["divisor"] += divisor != 1
            seen["odd divisor"] += divisor & (divisor - 1) != 0
    shares = (f"{name} {count}" for name, count in sorted(seen.items()))
    record_property("measured", ", ".join(shares))
    assert seen["divisor"] > 0.2 * seen["drawn"] and seen["odd divisor"] > 10


I8 = "%i: i8, %j: i8"
INDEX = "%i: index, %n: index"
SMALL = "%t = arith.constant 15 : index\n%x = arith.andi %i, %t : index\n"


@pytest.mark.parametrize(
    ("parameters", "text", "divisor"),
    [
        (I8, "%c = arith.constant 12 : i8\n%v = arith.muli %i, %c : i8", 4),
        (I8, "%c = arith.constant 12 : i8\n%v = arith.muli %i, %c overflow<nsw> : i8", 12),
        # 252 is -4 to who reads it with a sign.
        (I8, "%c = arith.constant 12 : i8\n%v = arith.muli %i, %c overflow<nuw> : i8", 4),
        (
            I8,
            "%c = arith.constant 12 : i8\n%u = arith.muli %i, %c overflow<nuw> : i8\n"
            "%v = arith.extui %u : i8 to i32",
            12,
        ),
        (
            I8,
            "%c = arith.constant 24 : i8\n%d = arith.constant 3 : i8\n"
            "%p = arith.muli %i, %c : i8\n%v = arith.divsi %p, %d : i8",
            1,
        ),
        (
            I8,
            "%c = arith.constant 24 : i32\n%d = arith.constant 3 : i32\n"
            "%w = arith.extsi %i : i8 to i32\n"
            "%p = arith.muli %w, %c : i32\n%v = arith.divsi %p, %d : i32",
            8,
        ),
        (INDEX, "%c = arith.constant 12 : index\n%v = arith.muli %i, %c : index", 4),
        (INDEX, SMALL + "%c = arith.constant 12 : index\n%v = arith.muli %x, %c : index", 12),
        (INDEX, "%c = arith.constant -8 : index\n%v = arith.andi %i, %c : index", 8),
        (INDEX, "%c = arith.constant 48 : index\n%v = arith.andi %i, %c : index", 16),
        (
            INDEX,
            "%c = arith.constant 6 : index\n%d = arith.constant 3 : index\n"
            "%s = arith.shli %i, %c : index\n%v = arith.shrui %s, %d : index",
            8,
        ),
        (INDEX, "%c = arith.constant 3 : index\n%v = arith.shrui %i, %c : index", 1),
        (
            INDEX,
            "%c = arith.constant 24 : index\n%d = arith.constant 40 : index\n"
            + SMALL
            + "%a = arith.muli %x, %c : index\n%v = arith.minui %a, %d : index",
            8,
        ),
        (
            INDEX,
            "%c = arith.constant 24 : index\n%d = arith.constant 36 : index\n"
            + SMALL
            + "%a = arith.muli %x, %c : index\n%v = arith.maxui %a, %d : index",
            12,
        ),
        (
            INDEX,
            "%c = arith.constant 24 : index\n%d = arith.constant 8 : index\n"
            + SMALL
            + "%a = arith.muli %x, %c : index\n%v = arith.ceildivui %a, %d : index",
            3,
        ),
        (INDEX, "%c = arith.constant 8 : index\n%v = arith.ceildivui %i, %c : index", 1),
        (
            # Numbers without a common bit add, and nothing carries.
            INDEX,
            "%c = arith.constant 48 : index\n%d = arith.constant 3 : index\n"
            + SMALL
            + "%a = arith.muli %x, %c : index\n%y = arith.andi %n, %d : index\n"
            "%b = arith.muli %y, %d : index\n%v = arith.ori %a, %b : index",
            3,
        ),
        (INDEX, "%v = affine.apply affine_map<(d0) -> (d0 ceildiv 8 * 8)>(%i)", 8),
        (INDEX, "%v = affine.apply affine_map<(d0) -> (((d0 mod 8) * 24) ceildiv 3)>(%i)", 8),
        (INDEX, "%v = affine.apply affine_map<(d0) -> ((d0 mod 8) * 24)>(%i)", 24),
        (INDEX, "%v = tile.assume_multiple %i, 24 : index", 24),
        ("%i: index", "%c = arith.constant 24 : i8\n%v = arith.index_cast %c : i8 to index", 24),
        ("%i: i64", "%j = tile.assume_multiple %i, 24 : i64\n%v = arith.trunci %j : i64 to i32", 8),
    ],
)
def test_divisors_are_as_large_as_what_is_in_sight_proves(
    parameters: str, text: str, divisor: int
) -> None:
    with mt.context():
        assert facts_of(text, parameters)[0] == divisor


@pytest.mark.parametrize(
    ("loop", "divisor", "bounds"),
    [
        ("%i = %c0 to %c96 step %c24", 24, (0, 72)),
        ("%i = %c12 to %c96 step %c24", 12, (12, 84)),
        ("unsigned %i = %c0 to %c96 step %c24", 24, (0, 72)),
        # The last step may leave 64 bits, and would begin again from below.
        ("%i = %c0 to %n step %c24", 8, None),
    ],
)
def test_loops_count_in_multiples_while_they_do_not_wrap(
    loop: str, divisor: int, bounds: tuple[int, int] | None
) -> None:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 12, 24, 96))
    text = f"func.func @f(%n: index) {{\n{constants}scf.for {loop} {{}}\nreturn\n}}"
    with mt.context():
        module = ir.Module.parse(text)
        *_, scf_for, _ = module.body.operations[0].regions[0].blocks[0].operations
        assert value_facts(scf_for.regions[0].blocks[0].arguments[0])[:2] == (divisor, bounds)
