# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the builders of the tile dialect take: numbers, barriers, places, and what they refuse."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from mlir import ir
from mlir.dialects import arith, func

import mlir_tile as mt
from mlir_tile.dialects import tile

SPACE = "#gpu.address_space<workgroup>"
TYPES = {
    "src": f"memref<8x16xf32, {SPACE}>",
    "dst": f"memref<8x16xf32, {SPACE}>",
    "one": f"!nvgpu.mbarrier.group<memorySpace = {SPACE}, num_barriers = 1>",
    "two": f"!nvgpu.mbarrier.group<memorySpace = {SPACE}, num_barriers = 2>",
    "i": "index",
    "i8": "i8",
    "i32": "i32",
    "i64": "i64",
    "i1": "i1",
    "f": "f32",
    "flat": f"memref<1024xf32, {SPACE}>",
    "swizzled": f"memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, {SPACE}>",
}


@dataclass
class Function:
    """A function with an argument of each type, where ops are built."""

    op: func.FuncOp
    values: dict[str, ir.Value]

    def __getattr__(self, name: str) -> ir.Value:
        return self.values[name]

    @property
    def body(self) -> list[str]:
        """The ops built, without types, generic values by the names of the arguments."""
        text = str(self.op)
        for number, name in enumerate(TYPES):
            text = re.sub(rf"%arg{number}\b", f"%{name}", text)
        lines = [line.strip() for line in text.splitlines()[1:-2]]
        return [re.sub(r" : .*", "", line) for line in lines]


@pytest.fixture
def at() -> Iterator[Function]:
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [ir.Type.parse(text) for text in TYPES.values()]
        with ir.InsertionPoint(module.body):
            op = func.FuncOp("f", (types, []))
        with ir.InsertionPoint(op.add_entry_block()):
            end = func.ReturnOp([])
        with ir.InsertionPoint(end):
            yield Function(op, dict(zip(TYPES, op.arguments, strict=True)))
        assert module.operation.verify()


def test_numbers_become_constants(at: Function) -> None:
    tile.copy_async(at.src, at.dst, (at.two, 1), rank=3)
    assert at.body == [
        "%c3_i32 = arith.constant 3",
        "%c1 = arith.constant 1",
        "tile.copy_async %src to %dst cta(%c3_i32) mbarrier(%two[%c1])",
    ]


def test_a_group_of_one_barrier_is_that_barrier(at: Function) -> None:
    tile.arrive(at.one, rank=at.i32)
    assert at.body == ["%c0 = arith.constant 0", "tile.arrive %one[%c0] cta(%i32)"]


@pytest.mark.parametrize(
    ("name", "conversion"),
    [("i", "arith.index_cast %i"), ("i64", "arith.trunci %i64"), ("i8", "arith.extui %i8")],
)
def test_a_rank_of_another_type_is_converted(at: Function, name: str, conversion: str) -> None:
    tile.arrive((at.two, at.i), rank=getattr(at, name))
    assert at.body == [f"%0 = {conversion}", "tile.arrive %two[%i] cta(%0)"]


def test_an_index_of_another_type_is_converted(at: Function) -> None:
    tile.arrive((at.two, at.i64), rank=at.i32)
    assert at.body == ["%0 = arith.index_cast %i64", "tile.arrive %two[%0] cta(%i32)"]


@pytest.mark.parametrize(("parity", "bit"), [(False, "false"), (True, "true"), (6, "false")])
def test_a_parity_is_a_truth_value_or_the_lowest_bit(at: Function, parity: int, bit: str) -> None:
    tile.wait((at.two, at.i), parity)
    assert at.body[0] == f"%{bit} = arith.constant {bit}"


def test_the_parity_of_a_counted_phase_is_its_lowest_bit(at: Function) -> None:
    tile.wait((at.two, at.i), at.i32, max_spins=5, scope="cluster")
    assert at.body == [
        "%0 = arith.trunci %i32",
        "tile.wait %two[%i] parity(%0) spins(5) {scope = #tile.scope<cluster>}",
    ]


def test_one_tile_or_several_are_expected(at: Function) -> None:
    tile.expect((at.two, at.i), at.src)
    tile.expect((at.two, at.i), [at.src, at.dst])
    assert at.body == ["tile.expect %two[%i] for %src", "tile.expect %two[%i] for %src, %dst"]


def test_a_view_has_the_shape_of_its_layout(at: Function) -> None:
    layout = tile.LayoutAttr.get((4, (2, 8)), (16, (64, 1)))
    assert tile.view(at.flat, layout).type.shape == [4, 16]
    assert tile.view(at.flat, layout, at.i64).type.layout == layout
    assert [line.split(" = ")[1] for line in at.body] == [
        "tile.view %flat[0]",
        "arith.index_cast %i64",
        "tile.view %flat[%1]",
    ]


def test_a_slice_has_the_type_of_its_region(at: Function) -> None:
    right = tile.slice(at.swizzled, [0, 32], [8, 32])
    assert right.type.layout == tile.LayoutAttr.get((8, 32), (64, 1), offset=32, swizzle=(3, 3, 3))
    somewhere = tile.slice(at.swizzled, [at.i, 0], [1, 64])
    assert somewhere.type.layout.offset is None
    assert tile.offset(somewhere).type == ir.IndexType.get()


def test_a_promise_has_the_type_of_its_value(at: Function) -> None:
    assert tile.assume_multiple(at.i64, 8).type == at.i64.type


def test_an_op_is_taken_for_its_result(at: Function) -> None:
    op = tile.copy_async(
        at.src, at.dst, at.one, rank=arith.ConstantOp(ir.IntegerType.get_signless(32), 1)
    )
    assert op.rank.owner.name == "arith.constant"


REFUSED: dict[str, tuple[Callable[[Function], object], type[Exception], str]] = {
    "a tile": (
        lambda at: tile.copy_async(3, at.dst, at.one, rank=1),
        TypeError,
        "src must be a memref, got 3",
    ),
    "the type of a tile": (
        lambda at: tile.copy_async(at.src, at.i, at.one, rank=1),
        TypeError,
        "dst must be a memref, got a value of type index",
    ),
    "a barrier": (
        lambda at: tile.copy_async(at.src, at.dst, at.i, rank=1),
        TypeError,
        "barrier must be a group of mbarriers, or (group, index), got a value of type index",
    ),
    "a group without an index": (
        lambda at: tile.copy_async(at.src, at.dst, at.two, rank=1),
        TypeError,
        "barrier must be (group, index), got a group of 2 alone",
    ),
    "an index outside the group": (
        lambda at: tile.arrive((at.two, 2), rank=1),
        ValueError,
        "barrier index must be in 0 to 1, got 2",
    ),
    "the type of an index": (
        lambda at: tile.arrive((at.two, at.f), rank=1),
        TypeError,
        "barrier index must be an int, an index or an integer value, got a value of type f32",
    ),
    "a rank": (
        lambda at: tile.arrive(at.one, rank="1"),
        TypeError,
        "rank must be an int, an index or an integer value, got '1'",
    ),
    "a truth value for a rank": (
        lambda at: tile.arrive(at.one, rank=True),
        TypeError,
        "rank must be an int, an index or an integer value, got True",
    ),
    "a rank that no cluster has": (
        lambda at: tile.arrive(at.one, rank=16),
        ValueError,
        "rank must be in 0 to 15, got 16",
    ),
    "an issuer": (
        lambda at: tile.copy_async(at.src, at.dst, at.one, rank=1, issue="block"),
        ValueError,
        "issue must be one of thread, warp, cta, got 'block'",
    ),
    "the type of an issuer": (
        lambda at: tile.copy_async(at.src, at.dst, at.one, rank=1, issue=1.5),
        TypeError,
        "issue must be one of thread, warp, cta, got 1.5",
    ),
    "a variant": (
        lambda at: tile.copy_async(at.src, at.dst, at.one, rank=1, variant=2),
        TypeError,
        "variant must be the name of a variant or None, got 2",
    ),
    "a plan": (
        lambda at: tile.copy_async(at.src, at.dst, at.one, rank=1, plan={"chunk": 16}),
        TypeError,
        "plan must be a CopyPlanAttr or None, got {'chunk': 16}",
    ),
    "a scope": (
        lambda at: tile.arrive(at.one, rank=1, scope="gpu"),
        ValueError,
        "scope must be one of cta, cluster, got 'gpu'",
    ),
    "a parity": (
        lambda at: tile.wait(at.one, at.f),
        TypeError,
        "parity must be an int, an index or an integer value, got a value of type f32",
    ),
    "a bound": (
        lambda at: tile.wait(at.one, 0, max_spins=1.5),
        TypeError,
        "max_spins must be an int or None, got 1.5",
    ),
    "no destination": (
        lambda at: tile.expect(at.one, []),
        ValueError,
        "destinations must name at least one tile, got none",
    ),
    "a layout": (
        lambda at: tile.view(at.flat, (8, 64)),
        TypeError,
        "layout must be a LayoutAttr, got (8, 64)",
    ),
    "a source without a layout": (
        lambda at: tile.slice(at.src, [0, 0], [8, 8]),
        TypeError,
        "source must be a memref with a #tile.layout, got a value of type "
        "memref<8x16xf32, #gpu.address_space<workgroup>>",
    ),
    "offsets": (
        lambda at: tile.slice(at.swizzled, [0], [8, 8]),
        TypeError,
        "offsets must be a sequence of 2, got [0]",
    ),
    "a region that leaves its source": (
        lambda at: tile.slice(at.swizzled, [0, 40], [8, 32]),
        ValueError,
        "sizes must be at least 1 and stay inside of dimension 1 of 64, got 32 from 40 on",
    ),
    "a divisor": (
        lambda at: tile.assume_multiple(at.i, 0),
        ValueError,
        "divisor must be at least 1, got 0",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_before_any_op_is_made(at: Function, what: str) -> None:
    call, kind, message = REFUSED[what]
    with pytest.raises(kind) as raised:
        call(at)
    assert str(raised.value) == message
    assert at.body == []


def test_an_op_stands_at_the_line_of_the_call(at: Function) -> None:
    line = sys._getframe().f_lineno + 1
    op = tile.copy_async(at.src, at.dst, at.one, rank=at.i)
    assert op.location.filename == __file__
    assert op.location.start_line == line
    for operand in op.rank, op.barrier_index:
        assert operand.owner.location == op.location


def test_a_diagnostic_names_the_line_of_the_call(at: Function) -> None:
    line = sys._getframe().f_lineno + 1
    op = tile.copy_async(at.src, at.flat, at.one, rank=1)
    with pytest.raises(ir.MLIRError, match="must have the same shape") as raised:
        op.operation.verify()
    assert raised.value.error_diagnostics[0].location.start_line == line
    op.operation.erase()


def test_a_location_that_says_something_is_kept(at: Function) -> None:
    here = ir.Location.file("model.py", 3, 7)
    with here:
        assert tile.arrive(at.one, rank=1).location == here
    assert tile.arrive(at.one, rank=1, loc=here).location == here


def test_no_current_location_is_needed() -> None:
    with mt.context():
        module = ir.Module.parse(f"func.func @f(%bars: {TYPES['one']}) {{ return }}")
        block = module.body.operations[0].entry_block
        op = tile.arrive(block.arguments[0], rank=1, ip=ir.InsertionPoint.at_block_begin(block))
        assert op.location.filename == __file__


def test_tracebacks_of_upstream_are_left_to_upstream(at: Function) -> None:
    with ir.loc_tracebacks():
        text = str(tile.arrive(at.one, rank=1).location)
    assert "callsite" in text
    assert "test_builder_operands.py" in text
    assert "_tile_builders.py" not in text
