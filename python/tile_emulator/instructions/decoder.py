# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turn parsed functions into blocks of steps.

A handler of the table sees one instruction; it asks the decoder for slots of its operands
(`source`, `target`), and emits steps, or one control step. The decoder adds guards and blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator._tile_emulator import Exchange, has_operation
from tile_emulator.errors import PTXError
from tile_emulator.instructions.liveness import loaded_registers, product_registers, used_registers
from tile_emulator.instructions.program import Access, Block, Body, Branch, CtaBarrier, Operation
from tile_emulator.instructions.slots import UNSIGNED, Slots
from tile_emulator.machine.special import DYNAMIC, SPECIAL, UNSUPPORTED, dynamic_value
from tile_emulator.machine.warp import NEXT, Control, Fragment, Mask, Step, Warp
from tile_emulator.ptx.module import (
    Function,
    Imm,
    Instruction,
    Mem,
    Not,
    Operand,
    Reg,
    Sink,
    Sym,
    Vec,
)
from tile_emulator.ptx.types import type_bits


def guard_mask(w: Warp, m: Mask, predicate: int, negated: bool) -> Mask | None:
    """Return the lanes of `m` where the predicate holds, or None when there is none."""
    values: NDArray[np.bool_] = w.u[predicate]
    lanes: NDArray[np.bool_] = ~values if negated else values
    if m is not True:
        lanes = lanes & m
    elif lanes.all():
        return True
    if not lanes.any():
        return None
    return lanes if negated or m is not True else lanes.copy()


# In the note of a use of a register of `wgmma.mma_async`: it was a move, which needs no fence.
MOVED = 1 << 31


class Decoder:
    """Decodes one function; `names` says where variables of the module are."""

    def __init__(
        self,
        function: Function,
        slots: Slots,
        blocks: list[Block],
        names: dict[str, tuple[str, int]],
        entries: dict[str, int],
        signatures: dict[str, Function],
        targets: dict[int, Function],
        find_handler: Callable[
            [str], tuple[Callable[[Decoder, Instruction], None], int, int] | None
        ],
        fine: bool,
        strict: bool,
    ) -> None:
        self.function = function
        self.slots = slots
        self.blocks = blocks
        self.names = names
        self.entries = entries
        self.signatures = signatures
        # What pointers to functions may lead to.
        self.targets_by_address = targets
        self.find_handler = find_handler
        self.fine = fine
        self.strict = strict
        self.loaded = loaded_registers(function)
        # The hidden registers of those that `wgmma.mma_async` uses, with the line of another use.
        self.watched = {name: slots.new(32) for name in product_registers(function)}
        widths = {name: type_bits(kind) or 32 for name, kind in function.registers.items()}
        # Who uses another width is unsupported.
        self.registers = {n: slots.new(width) for n, width in widths.items() if width in UNSIGNED}
        self.kinds = function.registers
        self.steps: Body = []
        self.before: Body = []
        self.after: Body = []
        self.visible = False
        self.control_step: Control | Branch | None = None
        self.control_blocking = False
        self.exchange: Exchange | None = None
        self.barrier: CtaBarrier | None = None
        self.targets: list[int] | None = None
        self.falls_through = True
        self.meets: list[list[int]] = []
        self.references: list[tuple[list[int], int]] = []
        self.ins: Instruction = Instruction("", (), (), None, False, 0, 0, None, ())

    # Operands

    def error(self, message: str) -> PTXError:
        return PTXError(message, self.ins.line, self.ins.column)

    def unsupported(self) -> PTXError:
        return self.error(f"unsupported instruction '{self.ins.opcode}'")

    def source(self, operand: Operand, kind: str) -> int:
        """Return a slot that holds `operand` with exactly the width of type `kind`."""
        width = type_bits(kind)
        if width is None:
            raise self.unsupported()
        if isinstance(operand, Reg):
            return self._fit(self.registers[operand.name], width)
        if isinstance(operand, Imm):
            return self.slots.constant(width, literal(operand, width))
        if isinstance(operand, Sym):
            return self._symbol(operand, width)
        if isinstance(operand, Not):
            inner = self.source(operand.value, "pred")
            temporary = self.slots.new(1)
            self.before.append(Operation("not.1", temporary, (inner,), whole=True))
            return temporary
        if isinstance(operand, Vec):
            return self._packed(operand, width)
        raise self.error(f"unexpected operand of '{self.ins.opcode}'")

    def _fit(self, slot: int, width: int) -> int:
        if self.slots.widths[slot] == width:
            return slot
        temporary = self.slots.new(width)
        name = f"cvt.u{width}.u{self.slots.widths[slot]}"
        self.before.append(Operation(name, temporary, (slot,), whole=True))
        return temporary

    def _packed(self, operand: Vec, width: int) -> int:
        """Combine the elements of `{a, b}`, lowest first, into one value."""
        count = len(operand.items)
        part = width // count
        parts = [self.source(item, f"b{part}") for item in operand.items]
        temporary = self.slots.new(width)

        for i, slot in enumerate(parts):
            self.before.append(Operation(f"insert.{width}.{part}", temporary, (slot,), i, True))
        return temporary

    def _symbol(self, operand: Sym, width: int) -> int:
        name = operand.name
        if name in SPECIAL:
            return self.slots.special_register(name, width)
        if name in DYNAMIC:
            temporary = self.slots.new(width)

            def read(w: Warp, m: Mask) -> None:
                w.u[temporary][:] = dynamic_value(w, m, name)

            self.before.append(read)
            return temporary
        space, offset = self.place(name)
        if space == "shared":
            if width < 32:
                raise self.error(f"the address of '{name}' needs at least 32 bits, got {width}")
            return self.slots.special_register("shared", width, offset + operand.offset)
        return self.slots.constant(width, (offset + operand.offset) & ((1 << width) - 1))

    def place(self, name: str) -> tuple[str, int]:
        """Return the space and the offset of a variable."""
        found = self.names.get(f"{self.function.name}/{name}") or self.names.get(name)
        if found is None:
            if UNSUPPORTED.fullmatch(name):
                raise self.error(f"unsupported special register '{name}'")
            raise self.error(f"undefined name '{name}'")
        return found

    def target(self, operand: Operand, kind: str) -> int:
        """Return the slot that takes a result of type `kind`; wider registers are extended."""
        width = type_bits(kind)
        if width is None:
            raise self.unsupported()
        if isinstance(operand, Sink):
            return self.slots.new(width)
        if isinstance(operand, Vec):
            return self._unpacked(operand, width)
        if not isinstance(operand, Reg):
            raise self.error(f"expected a register as the result of '{self.ins.opcode}'")
        slot = self.registers[operand.name]
        if self.slots.widths[slot] == width:
            return slot
        temporary = self.slots.new(width)
        sign = "s" if kind[0] == "s" else "u"
        name = f"cvt.{sign}{self.slots.widths[slot]}.{sign}{width}"
        self.after.append(Operation(name, slot, (temporary,)))
        return temporary

    def _unpacked(self, operand: Vec, width: int) -> int:
        count = len(operand.items)
        part = width // count
        parts = [self.target(item, f"b{part}") for item in operand.items]
        temporary = self.slots.new(width)

        self.after[:0] = [
            Operation(f"extract.{width}.{part}", slot, (temporary,), i)
            for i, slot in enumerate(parts)
        ]
        return temporary

    def address(self, operand: Operand) -> Callable[[Warp], Any]:
        """Return a function that gives the lanes' addresses as uint64."""
        if not isinstance(operand, Mem):
            raise self.error(f"expected an address in '{self.ins.opcode}'")
        offset = operand.offset
        base = operand.base
        if isinstance(base, Reg):
            slot = self.registers[base.name]
            if self.slots.widths[slot] == 64:
                if not offset:
                    return lambda w: w.u[slot]
                added = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)
                return lambda w: w.u[slot] + added
            added32 = np.int64(offset)
            return lambda w: (w.u[slot].astype(np.int64) + added32).astype(np.uint64)
        base = Sym(base.name, offset) if isinstance(base, Sym) else Imm("int", base.value + offset)
        slot = self.source(base, "u64")
        return lambda w: w.u[slot]

    def location(self, operand: Operand) -> tuple[int, bool, int]:
        """Return what an `Access` calls its base, whether that has 64 bits, and its offset."""
        if not isinstance(operand, Mem):
            raise self.error(f"expected an address in '{self.ins.opcode}'")
        base, offset = operand.base, operand.offset
        if isinstance(base, Reg):
            slot = self.registers[base.name]
            width = self.slots.widths[slot]
            if width not in (32, 64):
                slot = self._fit(slot, 32)
            return slot, width == 64, offset
        base = Sym(base.name, offset) if isinstance(base, Sym) else Imm("int", base.value + offset)
        return self.source(base, "u64"), True, 0

    # Emission

    def access(self, access: Access, visible: bool) -> None:
        """Add a load, a store or an atomic; `visible` is as in `emit_visible`."""
        self.steps.append(access)
        self.visible |= visible

    def operate(self, name: str, target: int, *sources: int) -> None:
        """Add an operation of the core; raises KeyError where it has none of this name."""
        if not has_operation(name):
            raise KeyError(name)
        self.steps.append(Operation(name, target, sources))

    def compute(self, name: str, width: int, *sources: int) -> int:
        """Add an operation of the core, and return a new slot of `width` bits for its result."""
        temporary = self.slots.new(width)
        self.operate(name, temporary, *sources)
        return temporary

    def emit(self, step: Step) -> None:
        """Add a step in Python."""
        self.steps.append(step)

    def emit_visible(self, step: Step) -> None:
        """Add a step that other threads can see: under random schedules a switch may follow."""
        self.steps.append(step)
        self.visible = True

    def control(self, control: Control | Branch, blocking: bool = True) -> None:
        """Make `control` the end of a block; a blocking one is run again until it lets go."""
        self.control_step = control
        self.control_blocking = blocking

    def reference(self, index: int) -> list[int]:
        """Return a cell for the block of instruction `index` (-1: the function's end)."""
        cell = [0]
        self.references.append((cell, index))
        return cell

    def meet(self) -> list[int]:
        """Return a cell that will hold the block where lanes that diverge here meet again."""
        cell = [0]
        self.meets.append(cell)
        return cell

    def label(self, operand: Operand) -> int:
        """Return the index of the instruction that a label stands before."""
        if not isinstance(operand, Sym):
            raise self.error("expected a label")
        return self.label_index(operand.name)

    def label_index(self, name: str) -> int:
        for scope in reversed(self.ins.scopes):
            index = self.function.labels.get((scope, name))
            if index is not None:
                return index
        raise self.error(f"undefined label '{name}'")

    # Decoding

    def begin(self, ins: Instruction) -> None:
        self.ins = ins
        self.steps, self.before, self.after = [], [], []
        self.visible = False
        self.control_step, self.control_blocking = None, False
        self.exchange, self.barrier = None, None
        self.targets, self.falls_through = None, True

    def decode(self, ins: Instruction) -> Body:
        """Run the handler of `ins`; returns its steps, guards included."""
        self.begin(ins)
        found = self.find_handler(ins.family)
        if found is None:
            raise self.unsupported()
        handler, least, most = found
        count = len(ins.operands)
        if not least <= count <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            noun = "operand" if wanted == "1" else "operands"
            raise self.error(f"'{ins.opcode}' takes {wanted} {noun}, got {count}")
        try:
            handler(self, ins)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self.error(f"unsupported instruction '{ins.opcode}'") from error
        steps = self.before + self.steps + self.after + self._uses(ins)
        if ins.guard is None or not steps:
            return steps
        name = "guard.not" if ins.guard_negated else "guard"
        guard = Operation(name, 0, (self.registers[ins.guard.name],), len(steps) + 1)
        return [guard, *steps, Operation("end", 0, ())]

    def _uses(self, ins: Instruction) -> Body:
        """Note uses of registers that `wgmma.mma_async` uses, too.

        Compilers copy registers between products, and assemblers take the copies away again. They
        also put a constant, or a pair of halves, into a register just before it is needed.
        """
        if not self.watched or ins.family == "wgmma":
            return []
        moves = ins.family == "mov" and not self.strict
        if moves and isinstance(ins.operands[1], Reg):
            return []
        line = self.slots.constant(32, ins.line | MOVED if moves else ins.line)
        names = [name for name in used_registers(ins) if name in self.watched]
        return [Operation("mov.32", self.watched[name], (line,)) for name in names]

    def guarded_control(self, control: Control | Branch) -> Control | Branch:
        """Skip `control` in the lanes where the instruction's guard is false."""
        guard = self.ins.guard
        if guard is None or isinstance(control, Branch):
            return control
        predicate, negated = self.registers[guard.name], self.ins.guard_negated

        def step(fragment: Fragment, m: Mask) -> int:
            mask = guard_mask(fragment.warp, m, predicate, negated)
            return NEXT if mask is None else control(fragment, mask)

        return step


def literal(operand: Imm, width: int) -> int:
    """Return the bits of a literal where a value of `width` bits is wanted."""
    value = operand.value
    if operand.kind == "f32" and width == 64:
        return int(
            struct.unpack(
                "<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", value))[0])
            )[0]
        )
    if operand.kind == "f64" and width == 32:
        number = struct.unpack("<d", struct.pack("<Q", value))[0]
        return int(np.float32(number).view(np.uint32))
    if operand.kind == "int" and width == 1:
        return int(value != 0)
    return value & ((1 << width) - 1)
