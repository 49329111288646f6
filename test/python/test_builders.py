# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building tile ops and reading their attributes from Python."""

from __future__ import annotations

import pydoc
from collections.abc import Iterator

import pytest
from mlir import ir
from mlir.dialects import func

import mlir_tile as mt
from mlir_tile.dialects import tile

GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>"
TILE = "memref<8x16xf32, #gpu.address_space<workgroup>>"
PLAN = (
    "#tile.copy_plan<bulk, chunk = 128, count = 16, loops = [2, 8], "
    "src = <start = 16, steps = [2048, 256]>, dst = <start = 896, steps = [2048, -128]>>"
)


@pytest.fixture
def arguments() -> Iterator[ir.OpOperandList]:
    """Give the operands of a copy, inside of a function that takes them."""
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [ir.Type.parse(text) for text in (TILE, TILE, "i32", GROUP, "index")]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("copy", (types, []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            end = func.ReturnOp([])
        with ir.InsertionPoint(end):
            yield block.arguments
        assert module.operation.verify()


def copy(arguments: ir.OpOperandList, **options: object) -> tile.CopyAsyncOp:
    """Build the copy that the arguments of the function say."""
    src, dst, rank, barriers, index = arguments
    return tile.copy_async(src, dst, (barriers, index), rank=rank, **options)


def test_a_built_copy_is_the_parsed_one(arguments: ir.OpOperandList) -> None:
    op = copy(arguments)
    text = str(op.operation.parent.parent)
    assert "tile.copy_async %arg0 to %arg1 cta(%arg2) mbarrier(%arg3[%arg4]) : " in text
    assert str(ir.Module.parse(text)) == text


def test_a_copy_has_its_operands_by_name(arguments: ir.OpOperandList) -> None:
    src, dst, rank, barriers, index = arguments
    op = tile.CopyAsyncOp(src=src, dst=dst, rank=rank, barriers=barriers, barrier_index=index)
    assert isinstance(op, tile.CopyAsyncOp)
    assert [op.src, op.dst, op.rank, op.barriers, op.barrier_index] == list(arguments)


def test_a_copy_has_no_variant_and_no_plan_unless_given(arguments: ir.OpOperandList) -> None:
    op = copy(arguments)
    assert op.variant is None
    assert op.plan is None
    assert tile.IssueAttr(op.issue).value == "thread"


@pytest.mark.parametrize("issue", list(tile.Issue))
def test_the_issuer_is_taken_from_the_enum(arguments: ir.OpOperandList, issue: tile.Issue) -> None:
    op = copy(arguments, issue=issue)
    assert isinstance(op.issue, tile.IssueAttr)
    assert op.issue.value == str(issue)


def test_the_issuer_is_taken_as_text(arguments: ir.OpOperandList) -> None:
    assert copy(arguments, issue="warp").issue.value == "warp"


def test_the_variant_is_taken_as_text(arguments: ir.OpOperandList) -> None:
    assert copy(arguments, variant="bulk").variant.value == "bulk"


def test_a_plan_shows_its_numbers(arguments: ir.OpOperandList) -> None:
    op = copy(arguments, plan=ir.Attribute.parse(PLAN))
    plan = op.plan
    assert isinstance(plan, tile.CopyPlanAttr)
    assert plan.variant == "bulk"
    assert plan.chunk_bytes == 128
    assert plan.count == 16
    assert plan.total_bytes == 2048
    assert plan.loops == [2, 8]
    assert (plan.src.start, plan.src.steps) == (16, [2048, 256])
    assert (plan.dst.start, plan.dst.steps) == (896, [2048, -128])
    assert str(plan) == PLAN


def test_a_plan_of_stores_shows_its_choice(arguments: ir.OpOperandList) -> None:
    text = (
        "#tile.copy_plan<st_async, chunk = 16, count = 4, loops = [4], "
        "src = <start = 0, steps = [4], gather = [4, 256]>, "
        "dst = <start = 0, steps = [256]>, threads = 32, cycles = 40>"
    )
    plan = copy(arguments, plan=ir.Attribute.parse(text)).plan
    assert (plan.src.gather, plan.threads, plan.cycles) == ([4, 256], 32, 40)
    assert str(plan) == text


def test_a_plan_cannot_be_changed(arguments: ir.OpOperandList) -> None:
    plan = copy(arguments, plan=ir.Attribute.parse(PLAN)).plan
    with pytest.raises(AttributeError):
        plan.chunk_bytes = 64


def test_another_attribute_is_no_plan(arguments: ir.OpOperandList) -> None:
    with pytest.raises(ValueError, match="CopyPlanAttr"):
        tile.CopyPlanAttr(ir.StringAttr.get("plan"))


def test_a_built_copy_is_verified(arguments: ir.OpOperandList) -> None:
    op = copy(arguments, variant="bulkk")
    with pytest.raises(ir.MLIRError, match='variant must be one of bulk, st_async, got "bulkk"'):
        op.operation.verify()
    op.operation.erase()


def test_the_location_is_the_one_given(arguments: ir.OpOperandList) -> None:
    here = ir.Location.file("copy.py", 3, 7)
    assert copy(arguments, loc=here).location == here


def test_help_is_the_description_of_the_op() -> None:
    text = pydoc.render_doc(tile.CopyAsyncOp, renderer=pydoc.plaintext)
    for heading in ("**Constraints**", "**Completion**", "**Example**"):
        assert heading in text
    assert "Bytes of one copy." in pydoc.render_doc(tile.CopyPlanAttr, renderer=pydoc.plaintext)
