# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`atom` and `red`, in global, shared and generic space, lane after lane."""

from __future__ import annotations

from tile_emulator._tile_emulator import has_combination
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.memory import SPACES, elements
from tile_emulator.instructions.program import Access
from tile_emulator.machine import access
from tile_emulator.machine.fences import STRONG, STRONG_WIDE
from tile_emulator.machine.warp import Mask, Warp, bits_of
from tile_emulator.ptx.module import Instruction, Sink
from tile_emulator.ptx.types import type_bits

_SEMANTICS = {"relaxed", "acquire", "release", "acq_rel"}
_IGNORED = {"cta", "cluster", "gpu", "sys", "noftz", "L2::cache_hint"}
_OPERATIONS = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}


def atomic(d: Decoder, ins: Instruction) -> None:
    """`atom` gives the old value, `red` does not."""
    parts = ins.parts[1:]
    kind = parts[-1]
    name = next((p for p in parts if p in _OPERATIONS), "")
    count = 1
    semantics, space = "relaxed", "generic"
    wide = "cta" not in parts
    strong = STRONG_WIDE if wide else STRONG
    for part in parts[:-1]:
        if part in _SEMANTICS:
            semantics = part
        elif part in SPACES:
            space = SPACES[part]
        elif part in ("v2", "v4", "v8"):
            count = int(part[1:])
        elif part not in _IGNORED and part != name:
            raise d.unsupported()
    width = (type_bits(kind) or 0) // 8
    if not name or width not in (2, 4, 8):
        raise d.unsupported()
    returns = ins.family == "atom"
    operands = list(ins.operands)
    wanted = elements(operands.pop(0), count) if returns else []
    slots = [-1 if isinstance(o, Sink) else d.target(o, kind) for o in wanted]
    location = d.location(operands[0])
    values = [[d.source(o, kind) for o in elements(v, count)] for v in operands[1:]]
    wanted_values = 2 if name == "cas" else 1
    if len(values) not in (wanted_values, wanted_values + ("L2::cache_hint" in parts)):
        raise d.error(
            f"'{ins.opcode}' takes {len(ins.operands) - len(values) + wanted_values} operands, "
            f"got {len(ins.operands)}"
        )
    if not has_combination(name, kind):
        raise d.unsupported()
    acquire, release = semantics in ("acquire", "acq_rel"), semantics in ("release", "acq_rel")

    def sync(w: Warp, m: Mask, addresses: list[int]) -> None:
        bits, keys = bits_of(m), access.sync_keys(addresses, space)
        access.observe(w, bits, keys, acquire, wide)
        access.publish(w, bits, keys, release, wide)

    d.access(
        Access(
            name, space, kind, width, strong, *location, slots or [-1] * count, ins, values[0],
            values[1] if name == "cas" else [], sync, release,
        ),
        visible=True,
    )  # fmt: skip
