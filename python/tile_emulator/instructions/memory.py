# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ld`, `st`, `cvta`, `mapa` and questions about addresses."""

from __future__ import annotations

from dataclasses import dataclass

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.program import Access
from tile_emulator.machine import access
from tile_emulator.machine.cta import NO_RANK, RANK_SHIFT
from tile_emulator.machine.fences import STRONG, STRONG_WIDE, WEAK
from tile_emulator.machine.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    WINDOW_BITS,
)
from tile_emulator.machine.warp import Mask, Warp, bits_of
from tile_emulator.ptx.module import Instruction, Operand, Sink, Vec
from tile_emulator.ptx.types import type_bits

SPACES = {
    "shared": "shared",
    "shared::cta": "shared",
    "shared::cluster": "shared::cluster",
    "global": "global",
    "local": "local",
    "const": "global",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
_SEMANTICS = {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"}
_SCOPES = {"cta", "cluster", "gpu", "sys"}
_CACHE = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"}


@dataclass
class Modifiers:
    """What stands between the dots of a memory instruction."""

    space: str = "generic"
    semantics: str = "weak"
    scope: str = ""
    count: int = 1
    kind: str = ""

    @property
    def wide(self) -> bool:
        """Whether the scope includes other CTAs; `volatile` is of the widest one."""
        return self.scope != "cta"

    @property
    def strong(self) -> int:
        if self.semantics == "weak":
            return WEAK
        return STRONG_WIDE if self.wide else STRONG


def modifiers(d: Decoder, parts: tuple[str, ...]) -> Modifiers:
    """Read the pieces of the opcode after the family; raises PTXError for one not known."""
    found = Modifiers()
    for part in parts:
        if part in SPACES:
            found.space = SPACES[part]
        elif part in _SEMANTICS:
            found.semantics = "relaxed" if part in ("volatile", "mmio") else part
        elif part in _SCOPES:
            found.scope = part
        elif part in ("v2", "v4", "v8"):
            found.count = int(part[1:])
        elif type_bits(part) is not None:
            found.kind = part
        elif part in _CACHE or part.startswith(("L1::", "L2::", "unified")):
            continue
        else:
            raise d.unsupported()
    return found


def elements(operand: Operand, count: int) -> list[Operand]:
    """Return the `count` registers of a vector operand."""
    items: list[Operand] = list(operand.items) if isinstance(operand, Vec) else [operand]
    if len(items) != count:
        raise ValueError("vector length")
    return items


def load(d: Decoder, ins: Instruction) -> None:
    """`ld`, `ldu`: one access for each lane, one value for each element."""
    how = modifiers(d, ins.parts[1:])
    width = (type_bits(how.kind) or 0) // 8
    if width not in (1, 2, 4, 8):
        raise d.unsupported()
    wanted = elements(ins.operands[0], how.count)
    # A poll is known by what it gave, wherever that goes.
    slots = [
        -1 if isinstance(o, Sink) and not how.strong else d.target(o, how.kind) for o in wanted
    ]
    acquire, wide, space = how.semantics == "acquire", how.wide, how.space

    def sync(w: Warp, m: Mask, addresses: list[int]) -> None:
        access.observe(w, bits_of(m), access.sync_keys(addresses, space), acquire, wide)

    d.access(
        Access(
            "ld", space, how.kind, width, how.strong, *d.location(ins.operands[1]), slots, ins,
            sync=sync if how.strong else None,
        ),
        visible=space not in ("local", "param"),
    )  # fmt: skip


def store(d: Decoder, ins: Instruction) -> None:
    """`st`."""
    how = modifiers(d, ins.parts[1:])
    width = (type_bits(how.kind) or 0) // 8
    if width not in (1, 2, 4, 8):
        raise d.unsupported()
    slots = [d.source(o, how.kind) for o in elements(ins.operands[1], how.count)]
    release, wide, space = how.semantics == "release", how.wide, how.space

    def sync(w: Warp, m: Mask, addresses: list[int]) -> None:
        access.publish(w, bits_of(m), access.sync_keys(addresses, space), release, wide)

    d.access(
        Access(
            "st", space, how.kind, width, how.strong, *d.location(ins.operands[0]), slots, ins,
            sync=sync if how.strong else None, releases=release,
        ),
        visible=space not in ("local", "param"),
    )  # fmt: skip


def convert_address(d: Decoder, ins: Instruction) -> None:
    """`cvta` and `cvta.to`: between a space and the generic window."""
    to = ins.parts[1] == "to"
    space = ins.parts[2] if to else ins.parts[1]
    kind = ins.parts[-1]
    if kind not in ("u64", "u32") or space not in SPACES:
        raise d.unsupported()
    source = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind)
    window = 0
    if space.startswith("shared"):
        window = SHARED_WINDOW
    elif space == "local":
        window = LOCAL_WINDOW
    if not window or kind == "u32":
        d.operate(f"mov.{type_bits(kind)}", target, source)
    elif to:
        d.operate("and.64", target, source, d.slots.constant(64, (1 << WINDOW_BITS) - 1))
    else:
        # Not a sum: LLVM converts the address of a local variable twice.
        d.operate("or.64", target, source, d.slots.constant(64, window))


def is_space(d: Decoder, ins: Instruction) -> None:
    """`isspacep`."""
    space = ins.parts[1]
    source = d.source(ins.operands[1], "u64")
    target = d.target(ins.operands[0], "pred")
    number = {"shared": 1, "local": 2, "param": 3}.get(space.partition("::")[0], 0)
    window = d.compute("shr.u64", 64, source, d.slots.constant(32, WINDOW_BITS))
    inside = d.compute("eq.u64", 1, window, d.slots.constant(64, number))
    if space in ("shared", "shared::cta"):
        own = d.slots.special_register("%cluster_ctarank", 32)
        inside = d.compute("and.1", 1, inside, d.compute("eq.u32", 1, rank_of(d, source), own))
    d.operate("mov.1", target, inside)


def rank_of(d: Decoder, address: int) -> int:
    """Return a slot with the CTA that a shared address says, of 32 or 64 bits."""
    if d.slots.widths[address] == 64:
        address = d.compute("cvt.u32.u64", 32, address)
    return d.compute("shr.u32", 32, address, d.slots.constant(32, RANK_SHIFT))


def map_address(d: Decoder, ins: Instruction) -> None:
    """`mapa`: the address of the same variable in another CTA of the cluster."""
    kind = ins.parts[-1]
    generic = not ins.parts[1].startswith("shared")
    if generic and kind != "u64":
        raise d.error(f"generic addresses have 64 bits: mapa.{kind} needs .shared::cluster")
    source = d.source(ins.operands[1], kind)
    rank = d.source(ins.operands[2], "u32")
    target = d.target(ins.operands[0], kind)
    bits = type_bits(kind) or 32
    # A rank outside of the cluster is an error only where the address is used: compilers
    # compute addresses ahead of the branch that needs them.
    rank = d.compute("min.u32", 32, rank, d.slots.constant(32, NO_RANK))
    if bits == 64:
        rank = d.compute("cvt.u64.u32", 64, rank)
    top = d.compute(f"shl.{bits}", bits, rank, d.slots.constant(32, RANK_SHIFT))
    if generic:
        top = d.compute("or.64", 64, top, d.slots.constant(64, SHARED_WINDOW))
    offset = d.compute(f"and.{bits}", bits, source, d.slots.constant(bits, (1 << RANK_SHIFT) - 1))
    d.operate(f"or.{bits}", target, offset, top)


def get_rank(d: Decoder, ins: Instruction) -> None:
    """`getctarank`: the CTA whose shared memory an address is in."""
    source = d.source(ins.operands[1], ins.parts[-1])
    target = d.target(ins.operands[0], "u32")
    d.operate("mov.32", target, rank_of(d, source))
