# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`atom` and `red`, in global, shared and generic space, lane after lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.floating import finish
from tile_emulator.instructions.memory import SPACES, elements
from tile_emulator.instructions.rounding import add, bf16_to_f32
from tile_emulator.instructions.slots import FLOAT, SIGNED, UNSIGNED
from tile_emulator.machine import access
from tile_emulator.machine.fences import STRONG, STRONG_WIDE
from tile_emulator.machine.warp import Mask, Warp, bits_of, lanes_of
from tile_emulator.ptx.module import Instruction, Sink
from tile_emulator.ptx.types import type_bits

Array = Any
_SEMANTICS = {"relaxed", "acquire", "release", "acq_rel"}
_IGNORED = {"cta", "cluster", "gpu", "sys", "noftz", "L2::cache_hint"}
_OPERATIONS = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}


def typed(kind: str, bits: Array) -> Array:
    """See unsigned bits as numbers of type `kind`."""
    element = kind.removesuffix("x2")
    if element == "bf16":
        return bf16_to_f32(bits.view(np.uint16))
    width = type_bits(element) or 32
    table = FLOAT if element[0] == "f" else SIGNED if element[0] == "s" else UNSIGNED
    return bits.view(table[width])


def operation(name: str, kind: str) -> Callable[..., Array]:
    """Return a function of the old bits and the operands that gives the new bits."""
    element = kind.removesuffix("x2")
    floating = "f" in element
    bits = type_bits(kind) or 32

    def back(value: Array) -> Array:
        if floating:
            return finish(value, kind, set()).view(UNSIGNED[bits])
        return value.view(UNSIGNED[bits])

    if name == "add":
        if floating:
            return lambda old, b: back(add(typed(kind, old), typed(kind, b), element, "rn"))
        return lambda old, b: old + b
    if name == "min":
        function: Any = np.fmin if floating else np.minimum
        return lambda old, b: back(function(typed(kind, old), typed(kind, b)))
    if name == "max":
        function = np.fmax if floating else np.maximum
        return lambda old, b: back(function(typed(kind, old), typed(kind, b)))
    if name == "inc":
        return lambda old, b: np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1))
    if name == "dec":
        return lambda old, b: np.where((old == 0) | (old > b), b, old - old.dtype.type(1))
    if name == "cas":
        return lambda old, b, c: np.where(old == b, c, old)
    if name == "exch":
        return lambda old, b: b
    table: dict[str, Any] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return table[name]  # type: ignore[no-any-return]


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
    targets = [None if isinstance(o, Sink) else d.target(o, kind) for o in wanted]
    address = d.address(operands[0])
    values = [[d.source(o, kind) for o in elements(v, count)] for v in operands[1:]]
    wanted_values = 2 if name == "cas" else 1
    if len(values) not in (wanted_values, wanted_values + ("L2::cache_hint" in parts)):
        raise d.error(
            f"'{ins.opcode}' takes {len(ins.operands) - len(values) + wanted_values} operands, "
            f"got {len(ins.operands)}"
        )
    values = values[:wanted_values]
    function = operation(name, kind)
    acquire, release = semantics in ("acquire", "acq_rel"), semantics in ("release", "acq_rel")

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        lanes = lanes_of(m)
        addresses = address(w)[lanes]
        bits = bits_of(m)
        keys = access.sync_keys(addresses, space)
        access.observe(w, bits, keys, acquire, wide)
        access.publish(w, bits, keys, release, wide)
        if len(set(addresses.tolist())) == len(lanes):
            rounds = [np.arange(len(lanes))]
        else:
            rounds = [np.array([i]) for i in range(len(lanes))]
        writes = w.cta.cluster.scheduler.writes
        changed = False
        for which in rounds:
            some, places = lanes[which], addresses[which]
            old = access.load(w, some, places, space, width, count, strong)
            new = np.stack(
                [
                    function(np.ascontiguousarray(old[:, i]), *(w.u[v[i]][some] for v in values))
                    for i in range(count)
                ],
                axis=1,
            )
            changed |= not np.array_equal(old, new)
            access.store(w, some, places, space, width, new, strong)
            for i, target in enumerate(targets):
                if target is not None:
                    w.u[target][some] = old[:, i]
        if not changed:
            w.cta.cluster.scheduler.writes = writes
            w.cta.cluster.scheduler.polled()

    d.emit_visible(step)
