# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, calls, returns: instructions that say what runs next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tile_emulator.errors import Fault, PTXError
from tile_emulator.instructions.decoder import Decoder, guard_mask
from tile_emulator.instructions.program import Branch
from tile_emulator.machine.warp import (
    DONE,
    NEXT,
    Control,
    Fragment,
    Mask,
    bits_of,
    first_lane,
    mask_of,
)
from tile_emulator.ptx.module import Args, Function, Instruction, Operand, Reg, Sym


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
    """`call` of a device function; parameters are copied through local memory."""
    operands = list(ins.operands)
    returns = _arguments(operands)
    callee = operands.pop(0)
    arguments = _arguments(operands)
    if isinstance(callee, Reg):
        call_through(d, ins, callee, returns, arguments)
        return
    if not isinstance(callee, Sym):
        raise d.error("expected a function")
    function = d.signatures.get(callee.name)
    if function is None:
        raise d.error(f"undefined function '{callee.name}'")
    if function.body is None:
        from tile_emulator.instructions.system import system_call

        system_call(d, ins, callee.name, returns, arguments)
        return
    passed = Passed.of(d, ins, function, returns, arguments)
    if passed is None:
        raise d.error(f"call of '{callee.name}' does not match its declaration")
    meet = d.meet()

    def step(fragment: Fragment, m: Mask) -> int:
        return enter(fragment, m, passed, following(fragment), meet[0])

    d.control(step, blocking=False)


@dataclass(frozen=True)
class Passed:
    """One call of a function: (source, destination, bytes) of what goes in and comes back."""

    function: Function
    ins: Instruction
    entries: dict[str, int]
    into: tuple[tuple[int, int, int], ...]
    back: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(
        cls,
        d: Decoder,
        ins: Instruction,
        function: Function,
        returns: tuple[Operand, ...],
        arguments: tuple[Operand, ...],
    ) -> Passed | None:
        """Return the call, or None where the function has other parameters."""
        if len(arguments) != len(function.params) or len(returns) != len(function.returns):
            return None

        def place(name: str) -> int:
            return d.names[f"{function.name}/{name}"][1]

        into = zip(arguments, function.params, strict=True)
        back = zip(returns, function.returns, strict=True)
        return cls(
            function,
            ins,
            d.entries,
            tuple((_param(d, actual), place(formal.name), formal.size) for actual, formal in into),
            tuple((place(formal.name), _param(d, actual), formal.size) for actual, formal in back),
        )

    def __call__(self, w: Any, m: Mask) -> None:
        """Bring back what the function returns."""
        copy_local(w, m, self.back)


def following(fragment: Fragment) -> int:
    """Return the block after the one that a fragment is at."""
    return int(fragment.warp.program.blocks[fragment.pc].next)


def enter(fragment: Fragment, m: Mask, passed: Passed, others: int, meet: int) -> int:
    """Let lanes call a function, while the others go to the block `others`."""
    warp, function = fragment.warp, passed.function
    bits = bits_of(m)
    if any(before.function is function for _, before in fragment.calls):
        raise PTXError(f"unsupported recursion through '{function.name}'", passed.ins.line)
    # Not by the name in the call, which may be an alias.
    entry = passed.entries[function.name]
    copy_local(warp, m, passed.into)
    calls = (*fragment.calls, (following(fragment), passed))
    if bits == fragment.bits:
        fragment.calls = calls
        return entry
    warp.diverge(fragment, bits, entry, others, meet)
    for piece in warp.fragments[-2:]:
        if piece.bits == bits:
            piece.calls = calls
    return DONE


def call_through(
    d: Decoder,
    ins: Instruction,
    callee: Reg,
    returns: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
) -> None:
    """`call` through a pointer: lanes that call different functions go one after another."""
    pointer = d.source(callee, "u64")
    known = {
        address: Passed.of(d, ins, function, returns, arguments)
        for address, function in d.targets_by_address.items()
    }
    meet = d.meet()

    def step(fragment: Fragment, m: Mask) -> int:
        warp, bits = fragment.warp, bits_of(m)
        if bits != fragment.bits:
            warp.diverge(fragment, bits, fragment.pc, following(fragment), meet[0])
            return DONE
        pointers = warp.u[pointer]
        lane = first_lane(bits)
        address = int(pointers[lane])
        passed = known.get(address)
        if passed is None:
            warp.at = ins
            function = d.targets_by_address.get(address)
            what = f"0x{address:x}, where there is no function"
            if function is not None:
                what = f"a pointer to '{function.name}', which has other parameters"
            raise Fault(
                "address",
                f"a call through {what}",
                "call what the address of a function was taken of, with its parameters",
                lane,
            )
        same = mask_of(bits_of(pointers == pointers[lane]) & bits)
        # Lanes that call another function come here again.
        return enter(fragment, same, passed, fragment.pc, meet[0])

    d.control(step, blocking=True)


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


def copy_local(w: Any, m: Mask, pairs: tuple[tuple[int, int, int], ...]) -> None:
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
