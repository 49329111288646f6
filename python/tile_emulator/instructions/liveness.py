# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where values go: whether one reaches a branch, a guard or an effect; which come from loads."""

from __future__ import annotations

from collections.abc import Iterator

from tile_emulator.ptx.module import (
    Args,
    Function,
    Instruction,
    Mem,
    Not,
    Operand,
    Pair,
    Reg,
    Sym,
    Vec,
)

# Families that only compute: what they read goes to their first operand and nowhere else.
_PURE = {
    "add", "and", "cnot", "cvt", "lop3", "mov", "mul", "neg", "not", "or", "prmt", "selp", "set",
    "setp", "shl", "shr", "slct", "sub", "xor",
}  # fmt: skip

_ELSEWHERE = {"global", "local", "const", "param", "param::entry", "param::func"}


def is_used(function: Function, start: Instruction, name: str) -> bool:
    """Tell whether the register `name`, as `start` leaves it, decides or changes anything."""
    body = function.body or []
    first = next(i for i, ins in enumerate(body) if ins is start)
    found = {(first, name)}
    work = [(first, name)]
    while work:
        index, register = work.pop()
        for reader in _readers(function, body, index, register):
            ins = body[reader]
            if ins.family not in _PURE or (ins.guard is not None and ins.guard.name == register):
                return True
            for result in _names(ins.operands[0]):
                if (reader, result) not in found:
                    found.add((reader, result))
                    work.append((reader, result))
    return False


def product_registers(function: Function) -> list[str]:
    """Return the registers that `wgmma.mma_async` reads and writes while others may go on."""
    names = [
        name
        for ins in function.body or ()
        if ins.parts[:2] == ("wgmma", "mma_async")
        for operand in ins.operands[:2]
        if isinstance(operand, Vec)
        for name in _names(operand)
    ]
    return list(dict.fromkeys(names))


def used_registers(ins: Instruction) -> list[str]:
    """Return the registers that an instruction reads or writes, its guard's among them."""
    names = [name for operand in ins.operands for name in _names(operand)]
    return names if ins.guard is None else [*names, ins.guard.name]


def loaded_registers(function: Function) -> set[str]:
    """Return the registers whose values may depend on loads from shared memory."""
    found: set[str] = set()
    reads: dict[str, list[list[str]]] = {}
    for ins in function.body or ():
        if not ins.operands:
            continue
        results = _names(ins.operands[0])
        if ins.family in ("ld", "ldu", "ldmatrix", "atom"):
            if not _ELSEWHERE.intersection(ins.parts):
                found.update(results)
        elif _is_result(ins, ins.operands[0]):
            for operand in ins.operands[1:]:
                for name in _names(operand):
                    reads.setdefault(name, []).append(results)
    work = list(found)
    while work:
        for results in reads.get(work.pop(), ()):
            work += [name for name in results if name not in found]
            found.update(results)
    return found


def _readers(
    function: Function, body: list[Instruction], index: int, register: str
) -> Iterator[int]:
    """Yield the instructions that may read what instruction `index` has left in `register`."""
    seen: set[int] = set()
    work = list(_successors(function, body, index))
    while work:
        i = work.pop()
        if i in seen or i >= len(body):
            continue
        seen.add(i)
        ins = body[i]
        first = ins.operands[0] if ins.operands else None
        reads = [name for operand in ins.operands[1:] for name in _names(operand)]
        if first is not None and not _is_result(ins, first):
            reads += _names(first)
        if register in reads or (ins.guard is not None and ins.guard.name == register):
            yield i
        rewritten = isinstance(first, Reg) and first.name == register and _is_result(ins, first)
        if rewritten and ins.guard is None:
            continue
        work.extend(_successors(function, body, i))


def _is_result(ins: Instruction, first: Operand) -> bool:
    """Tell whether the first operand is written rather than read."""
    return isinstance(first, Reg | Pair | Vec) and ins.family not in ("bar", "barrier", "call")


def _successors(function: Function, body: list[Instruction], index: int) -> list[int]:
    ins = body[index]
    targets = []
    if ins.family == "bra" and isinstance(ins.operands[0], Sym):
        targets = [_label(function, ins, ins.operands[0].name)]
    elif ins.family == "brx" and isinstance(ins.operands[1], Sym):
        targets = [_label(function, ins, n) for n in function.tables[ins.operands[1].name]]
    ends = ins.family in ("bra", "brx", "ret", "exit", "trap") and ins.guard is None
    return targets if ends else [*targets, index + 1]


def _label(function: Function, ins: Instruction, name: str) -> int:
    for scope in reversed(ins.scopes):
        index = function.labels.get((scope, name))
        if index is not None:
            return index
    return len(function.body or [])


def _names(operand: Operand) -> list[str]:
    """Return the registers that an operand names."""
    if isinstance(operand, Reg):
        return [operand.name]
    if isinstance(operand, Not):
        return _names(operand.value)
    if isinstance(operand, Pair):
        return _names(operand.first) + _names(operand.second)
    if isinstance(operand, Vec | Args):
        return [name for item in operand.items for name in _names(item)]
    if isinstance(operand, Mem):
        return _names(operand.base) + [n for item in operand.extra for n in _names(item)]
    return []
