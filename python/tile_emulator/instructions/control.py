# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, calls, returns: instructions that say what runs next."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder, guard_mask
from tile_emulator.instructions.program import Branch
from tile_emulator.machine.warp import DONE, NEXT, Control, Fragment, Mask, bits_of, first_lane
from tile_emulator.ptx.module import Args, Instruction, Operand, Reg, Sym


def branch(d: Decoder, ins: Instruction) -> None:
    """`bra`, guarded or not, uniform or not."""
    index = d.label(ins.operands[0])
    target = d.reference(index)
    d.targets = [index]
    if ins.guard is None:
        d.falls_through = False
        d.control(Branch(target), blocking=False)
        return
    predicate = d.registers[ins.guard.name]
    d.control(Branch(target, predicate, ins.guard_negated, d.meet()), blocking=False)


def branch_indexed(d: Decoder, ins: Instruction) -> None:
    """`brx.idx`: a jump table."""
    selector = d.source(ins.operands[0], "u32")
    table = ins.operands[1]
    if not isinstance(table, Sym) or table.name not in d.function.tables:
        raise d.error("expected a list of branch targets")
    indices = [d.label_index(name) for name in d.function.tables[table.name]]
    targets = [d.reference(index) for index in indices]
    meet = d.meet()
    d.targets, d.falls_through = indices, ins.guard is not None
    guard = None if ins.guard is None else d.registers[ins.guard.name]
    negated = ins.guard_negated

    def step(fragment: Fragment, m: Mask) -> int:
        warp = fragment.warp
        if guard is not None:
            jumping = guard_mask(warp, m, guard, negated)
            if jumping is None:
                return NEXT
            bits = bits_of(jumping) & fragment.bits
            if bits != fragment.bits:
                here = warp.program.blocks[fragment.pc].next
                warp.diverge(fragment, bits, fragment.pc, here, meet[0])
                return DONE
        choice = warp.u[selector]
        lane = first_lane(fragment.bits)
        first = int(choice[lane])
        if first >= len(targets):
            raise Fault(
                "address",
                f"brx.idx index {first} is outside its table of {len(targets)}",
                "check the index",
                lane,
            )
        same = choice == first
        bits = bits_of(same) & fragment.bits
        if bits == fragment.bits:
            return targets[first][0]
        warp.diverge(fragment, bits, targets[first][0], fragment.pc, meet[0])
        return DONE

    d.control(step, blocking=True)


def return_(d: Decoder, ins: Instruction) -> None:
    """`ret`: go to the end of the function, where its lanes meet."""
    target = d.reference(-1)
    d.targets = [-1]
    if ins.guard is None:
        d.falls_through = False
        d.control(Branch(target), blocking=False)
        return
    predicate = d.registers[ins.guard.name]
    d.control(Branch(target, predicate, ins.guard_negated, d.meet()), blocking=False)


def return_control(is_entry: bool) -> Control:
    """What stands at the end of a function."""

    def end(fragment: Fragment, m: Mask) -> int:
        fragment.warp.retire(fragment, fragment.bits)
        return DONE

    def back(fragment: Fragment, m: Mask) -> int:
        pc, after = fragment.calls[-1]
        fragment.calls = fragment.calls[:-1]
        after(fragment.warp, m)
        return int(pc)

    return end if is_entry else back


def exit_(d: Decoder, ins: Instruction) -> None:
    """`exit`: the thread ends here."""
    d.falls_through = ins.guard is not None
    if ins.guard is None:
        d.targets = [-1]

    def step(fragment: Fragment, m: Mask) -> int:
        warp = fragment.warp
        whole = bits_of(m) == fragment.bits
        warp.retire(fragment, bits_of(m))
        return DONE if whole else NEXT

    d.control(step, blocking=False)


def trap(d: Decoder, ins: Instruction) -> None:
    """`trap` and `brkpt`: the kernel gave up."""

    def step(w: Any, m: Mask) -> None:
        w.at = ins
        lane = int(np.argmax(m)) if m is not True else 0
        timed_out = w.keep.get("timed out")
        notes = (f"before that, {timed_out}",) if timed_out else ()
        advice = "see what the kernel checks there"
        raise Fault("trap", f"{ins.opcode} was executed", advice, lane, notes)

    d.emit(step)


def call(d: Decoder, ins: Instruction) -> None:
    """`call` of a device function by name; parameters are copied through local memory."""
    operands = list(ins.operands)
    returns = _arguments(operands)
    callee = operands.pop(0)
    arguments = _arguments(operands)
    if isinstance(callee, Reg):
        raise d.error("unsupported indirect call")
    if not isinstance(callee, Sym):
        raise d.error("expected a function")
    function = d.signatures.get(callee.name)
    if function is None:
        raise d.error(f"undefined function '{callee.name}'")
    if function.body is None:
        from tile_emulator.instructions.system import system_call

        system_call(d, ins, callee.name, returns, arguments)
        return
    pairs_in = [
        (_param(d, actual), d.names[f"{function.name}/{formal.name}"][1], formal.size)
        for actual, formal in zip(arguments, function.params, strict=False)
    ]
    pairs_out = [
        (d.names[f"{function.name}/{formal.name}"][1], _param(d, actual), formal.size)
        for actual, formal in zip(returns, function.returns, strict=False)
    ]
    if len(pairs_in) != len(function.params) or len(pairs_out) != len(function.returns):
        raise d.error(f"call of '{callee.name}' does not match its declaration")
    # Not by the name in the call, which may be an alias.
    entry = d.entries[function.name]
    meet = d.meet()

    def after(w: Any, m: Mask) -> None:
        copy_local(w, m, pairs_out)

    def step(fragment: Fragment, m: Mask) -> int:
        warp = fragment.warp
        here = warp.program.blocks[fragment.pc].next
        bits = bits_of(m)
        copy_local(warp, m, pairs_in)
        if bits == fragment.bits:
            fragment.calls = (*fragment.calls, (here, after))
            return entry
        calls = fragment.calls
        warp.diverge(fragment, bits, entry, here, meet[0])
        for piece in warp.fragments[-2:]:
            if piece.bits == bits:
                piece.calls = (*calls, (here, after))
        return DONE

    d.control(step, blocking=False)


def _arguments(operands: list[Operand]) -> tuple[Operand, ...]:
    """Take a parenthesised list off the front, if there is one."""
    if operands and isinstance(operands[0], Args):
        first = operands.pop(0)
        assert isinstance(first, Args)
        return first.items
    return ()


def _param(d: Decoder, operand: object) -> int:
    if not isinstance(operand, Sym):
        raise d.error("unsupported call argument: only .param variables are")
    return d.place(operand.name)[1]


def copy_local(w: Any, m: Mask, pairs: list[tuple[int, int, int]]) -> None:
    """Copy (source, destination, bytes) within the local memory of the active lanes."""
    local = w.local
    for source, destination, size in pairs:
        part = local[:, source : source + size]
        if m is True:
            local[:, destination : destination + size] = part
        else:
            local[m, destination : destination + size] = part[m]


def nothing(d: Decoder, ins: Instruction) -> None:
    """Instructions without an effect here: hints, prefetches, `griddepcontrol`, `nanosleep`."""


def policy(d: Decoder, ins: Instruction) -> None:
    """`createpolicy`: an opaque value that nothing here looks at."""
    target = d.target(ins.operands[0], "b64")
    d.operate("mov.64", target, d.slots.constant(64, 0))
