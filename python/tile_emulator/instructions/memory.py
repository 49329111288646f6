# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ld`, `st`, `cvta`, `mapa` and questions about addresses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.program import Access
from tile_emulator.machine import access
from tile_emulator.machine.cta import NO_RANK, RANK_SHIFT
from tile_emulator.machine.fences import STRONG, STRONG_WIDE, WEAK
from tile_emulator.machine.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    WINDOW_MASK,
    WINDOW_SHIFT,
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
_SHIFT = np.uint64(RANK_SHIFT)


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
        d.emit(lambda w, m: np.copyto(w.u[target], w.u[source], where=m))
    elif to:
        d.emit(lambda w, m: np.bitwise_and(w.u[source], WINDOW_MASK, out=w.u[target], where=m))
    else:
        # Not a sum: LLVM converts the address of a local variable twice.
        bits = np.uint64(window)
        d.emit(lambda w, m: np.bitwise_or(w.u[source], bits, out=w.u[target], where=m))


def is_space(d: Decoder, ins: Instruction) -> None:
    """`isspacep`."""
    space = ins.parts[1]
    source = d.source(ins.operands[1], "u64")
    target = d.target(ins.operands[0], "pred")
    number = {"shared": 1, "local": 2, "param": 3}.get(space.partition("::")[0], 0)
    own_only = space in ("shared", "shared::cta")

    def step(w: Warp, m: Mask) -> None:
        addresses = w.u[source]
        inside = (addresses >> WINDOW_SHIFT) == np.uint64(number)
        if own_only and number == 1:
            inside &= (addresses & np.uint64(0xFFFFFFFF)) >> _SHIFT == np.uint64(w.cta.rank)
        np.copyto(w.u[target], inside, where=m)

    d.emit(step)


def map_address(d: Decoder, ins: Instruction) -> None:
    """`mapa`: the address of the same variable in another CTA of the cluster."""
    kind = ins.parts[-1]
    generic = not ins.parts[1].startswith("shared")
    if generic and kind != "u64":
        raise d.error(f"generic addresses have 64 bits: mapa.{kind} needs .shared::cluster")
    source = d.source(ins.operands[1], kind)
    rank = d.source(ins.operands[2], "u32")
    target = d.target(ins.operands[0], kind)
    keep = (1 << RANK_SHIFT) - 1
    top = SHARED_WINDOW if generic else 0

    def step(w: Warp, m: Mask) -> None:
        # A rank outside of the cluster is an error only where the address is used: compilers
        # compute addresses ahead of the branch that needs them.
        dtype = w.u[target].dtype.type
        ranks = np.minimum(w.u[rank], np.uint32(NO_RANK)).astype(dtype)
        value = (w.u[source] & dtype(keep)) | (ranks << dtype(RANK_SHIFT))
        if top:
            value |= dtype(top)
        np.copyto(w.u[target], value, where=m)

    d.emit(step)


def get_rank(d: Decoder, ins: Instruction) -> None:
    """`getctarank`: the CTA whose shared memory an address is in."""
    kind = ins.parts[-1]
    source = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], "u32")

    def step(w: Warp, m: Mask) -> None:
        value = (w.u[source].astype(np.uint64) & np.uint64(0xFFFFFFFF)) >> _SHIFT
        np.copyto(w.u[target], value.astype(np.uint32), where=m)

    d.emit(step)
