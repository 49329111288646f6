# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse the body of a function: scopes, declarations, labels, instructions, operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_emulator.ptx.module import (
    Args,
    Function,
    Imm,
    Instruction,
    Mem,
    Not,
    Operand,
    Pair,
    Reg,
    Sink,
    Sym,
    Variable,
    Vec,
)
from tile_emulator.ptx.types import type_bits

if TYPE_CHECKING:
    from tile_emulator.ptx.parser import TokenStream

MOST_REGISTERS = 1 << 20
MOST_SCOPES = 256
_SPACES = {".shared": "shared", ".local": "local", ".global": "global", ".const": "const"}


class BodyParser:
    """Fills one function from the tokens between its braces."""

    def __init__(self, stream: TokenStream, function: Function, files: dict[int, str]) -> None:
        self.stream = stream
        self.function = function
        self.files = files
        self.registers: list[dict[str, Reg]] = [{}]
        self.names: list[dict[str, str]] = [{}]
        self.scopes: tuple[int, ...] = (0,)
        self.scope_count = 1
        self.source: tuple[str, int] | None = None
        self.body: list[Instruction] = []

    def parse(self) -> None:
        stream = self.stream
        stream.expect("{")
        while True:
            if stream.accept("{"):
                self._open_scope()
            elif stream.accept("}"):
                if len(self.scopes) == 1:
                    break
                self._close_scope()
            elif stream.text == ";":
                stream.take()
            elif stream.text.startswith("."):
                self._directive()
            elif stream.token.kind == "word" and stream.tokens[stream.index + 1].text == ":":
                self._label()
            else:
                self._instruction()
        self.function.body = self.body

    def _open_scope(self) -> None:
        if len(self.scopes) > MOST_SCOPES:
            raise self.stream.error(f"scopes are nested too deeply, {MOST_SCOPES} at most")
        self.scopes = (*self.scopes, self.scope_count)
        self.scope_count += 1
        self.registers.append({})
        self.names.append({})

    def _close_scope(self) -> None:
        self.scopes = self.scopes[:-1]
        self.registers.pop()
        self.names.pop()

    def _label(self) -> None:
        stream = self.stream
        name = stream.take()
        stream.expect(":")
        if stream.text == ".branchtargets":
            stream.take()
            self.function.tables[name] = self._names_until_semicolon()
            return
        if stream.text in (".callprototype", ".calltargets"):
            while not stream.accept(";"):
                stream.take()
            return
        self.function.labels[(self.scopes[-1], name)] = len(self.body)

    def _names_until_semicolon(self) -> list[str]:
        names = []
        while not self.stream.accept(";"):
            word = self.stream.take()
            if word != ",":
                names.append(word)
        return names

    def _directive(self) -> None:
        from tile_emulator.ptx.parser import parameter, variables

        stream = self.stream
        word = stream.take()
        if word == ".reg":
            self._registers()
        elif word in _SPACES:
            for variable in variables(stream, _SPACES[word], False):
                self._declare(variable)
        elif word == ".param":
            param = parameter(stream)
            self._declare(Variable(param.name, "param", param.size, param.align))
            stream.expect(";")
        elif word == ".loc":
            self._location()
        elif word == ".pragma":
            while not stream.accept(";"):
                stream.take()
        else:
            raise stream.error(f"unsupported directive '{word}'")

    def _declare(self, variable: Variable) -> None:
        outer = variable.name
        if len(self.scopes) > 1:
            variable.name = f"{outer}@{self.scopes[-1]}"
        self.names[-1][outer] = variable.name
        self.function.variables[variable.name] = variable

    def _registers(self) -> None:
        stream = self.stream
        kind = stream.take()[1:]
        lanes = 1
        if kind in ("v2", "v4"):
            lanes = int(kind[1:])
            kind = stream.take()[1:]
        if type_bits(kind) is None or lanes != 1:
            raise stream.error(f"unsupported register type '.{kind}'")
        while True:
            name = stream.take()
            names = [name]
            if stream.accept("<"):
                count = stream.count()
                if count > MOST_REGISTERS:
                    raise stream.error(f"{count} registers are too many, {MOST_REGISTERS} at most")
                names = [f"{name}{i}" for i in range(count)]
                stream.expect(">")
            suffix = "" if len(self.scopes) == 1 else f"@{self.scopes[-1]}"
            for one in names:
                self.registers[-1][one] = Reg(one + suffix)
                self.function.registers[one + suffix] = kind
            if not stream.accept(","):
                break
        stream.expect(";")

    def _location(self) -> None:
        stream = self.stream
        file, line = stream.integer(), stream.integer()
        stream.integer()
        self.source = (self.files.get(file, f"file {file}"), line) if line else None
        while stream.accept(","):
            word = stream.take()
            if word == "function_name":
                stream.take()
                if stream.accept("+"):
                    stream.integer()
            elif word == "inlined_at":
                for _ in range(3):
                    stream.integer()

    def _instruction(self) -> None:
        stream = self.stream
        guard, negated = None, False
        if stream.accept("@"):
            negated = stream.accept("!")
            register = self._register(stream.take())
            if register is None:
                raise stream.error("expected a predicate register after '@'")
            guard = register
        at = stream.token
        if at.kind != "word":
            raise stream.error(f"expected an instruction, got '{at.text}'")
        opcode = stream.take()
        line, column = stream.lines.line(at.offset), stream.lines.column(at.offset)
        parts = tuple(opcode.split("."))
        operands: list[Operand] = []
        if not stream.accept(";"):
            operands.append(self._operand())
            while stream.accept(","):
                operands.append(self._operand())
            stream.expect(";")
        self.body.append(
            Instruction(
                opcode,
                parts,
                tuple(operands),
                guard,
                negated,
                line,
                column,
                self.source,
                self.scopes,
            )
        )

    def _register(self, name: str) -> Reg | None:
        for scope in reversed(self.registers):
            register = scope.get(name)
            if register is not None:
                return register
        return None

    def _operand(self) -> Operand:
        first = self._simple()
        if self.stream.accept("|"):
            return Pair(first, self._simple())
        return first

    def _simple(self) -> Operand:
        stream = self.stream
        token = stream.token
        if token.kind == "number":
            return Imm(*stream.number())
        if token.kind == "word":
            return self._name()
        if stream.accept("-"):
            kind, value = stream.number()
            if kind != "int":
                value ^= 1 << (31 if kind == "f32" else 63)
                return Imm(kind, value)
            return Imm(kind, -value)
        if stream.accept("!"):
            return Not(self._simple())
        if stream.accept("["):
            return self._memory()
        if stream.accept("{"):
            return Vec(self._list("}"))
        if stream.accept("("):
            return Args(self._list(")"))
        raise stream.error(f"expected an operand, got '{token.text}'")

    def _list(self, closing: str) -> tuple[Operand, ...]:
        items: list[Operand] = []
        if not self.stream.accept(closing):
            items.append(self._operand())
            while self.stream.accept(","):
                items.append(self._operand())
            self.stream.expect(closing)
        return tuple(items)

    def _name(self) -> Operand:
        stream = self.stream
        name = stream.take()
        if name == "_":
            return Sink()
        register = self._register(name)
        if register is not None:
            return register
        for scope in reversed(self.names):
            name = scope.get(name, name)
            if name in scope.values():
                break
        if stream.text in ("+", "-") and stream.tokens[stream.index + 1].kind == "number":
            sign = -1 if stream.take() == "-" else 1
            return Sym(name, sign * stream.integer())
        return Sym(name)

    def _memory(self) -> Operand:
        stream = self.stream
        base = self._simple()
        offset = 0
        if isinstance(base, Sym):
            base, offset = Sym(base.name), base.offset
        while stream.text in ("+", "-"):
            sign = -1 if stream.take() == "-" else 1
            offset += sign * stream.integer()
        extra = []
        while stream.accept(","):
            extra.append(self._operand())
        stream.expect("]")
        if not isinstance(base, (Reg, Imm, Sym)):
            raise stream.error("expected an address between brackets")
        return Mem(base, offset, tuple(extra))
