# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bulk copies that combine with their destination: `cp.reduce.async.bulk`, of PTX ISA 8.0.

Upstream has no op for it.
"""

from mlir import ir
from mlir.dialects import llvm

from ..dialects import tile
from .addresses import number_of
from .values import Attributes, build, made_once

INTEGERS = {
    "add": "add.u", "minsi": "min.s", "minui": "min.u", "maxsi": "max.s", "maxui": "max.u",
    "and": "and.b", "or": "or.b", "xor": "xor.b", "inc": "inc.u", "dec": "dec.u",
}  # fmt: skip
"""How PTX spells the kinds for integers, up to their bits."""
FLOATS = {"add": "add", "minnumf": "min", "maxnumf": "max"}


def reduction(op: tile.CopyAsyncOp) -> str | None:
    """Return how PTX spells the reduction and the type of `op`, such as `add.u32`, or None."""
    if op.reduce is None:
        return None
    kind, element = str(op.reduce.value), ir.MemRefType(op.src.type).element_type
    if isinstance(element, ir.IntegerType):
        return f"{INTEGERS[kind]}{element.width}"
    rounding = ".noftz" if kind == "add" and str(element) in ("f16", "bf16") else ""
    return f"{FLOATS[kind]}{rounding}.{element}"


def into_peer(dst: ir.Value, src: ir.Value, nbytes: ir.Value, barrier: ir.Value, how: str) -> None:
    """Combine bytes with those in the shared memory of a CTA of the cluster."""
    operands = [number_of(dst), number_of(src), nbytes, number_of(barrier)]
    build("llvm.inline_asm", operands, attributes=peer_instruction(how))


def into_global(
    dst: ir.Value, src: ir.Value, nbytes: ir.Value, policy: ir.Value | None, how: str
) -> None:
    """Combine bytes with those in global memory."""
    address = llvm.ptrtoint(ir.IntegerType.get_signless(64), dst)
    operands = [address, number_of(src), nbytes, *([] if policy is None else [policy])]
    build("llvm.inline_asm", operands, attributes=global_instruction(how, policy is not None))


@made_once
def peer_instruction(how: str) -> Attributes:
    """Return the text and the operands of a reduction into a peer."""
    return instruction(
        f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{how} "
        "[$0], [$1], $2, [$3];",
        "r,r,r,r",
    )


@made_once
def global_instruction(how: str, has_policy: bool) -> Attributes:
    """Return the text and the operands of a reduction into global memory."""
    hint, policy = (".L2::cache_hint", ", $3") if has_policy else ("", "")
    return instruction(
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{how} [$0], [$1], $2{policy};",
        "l,r,r,l" if has_policy else "l,r,r",
    )


def instruction(text: str, constraints: str) -> Attributes:
    """Return the attributes of assembly that reads and writes memory."""
    return {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(f"{constraints},~{{memory}}"),
        "has_side_effects": ir.UnitAttr.get(),
    }
