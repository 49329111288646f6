# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parsed form of PTX: modules, functions, instructions, operands."""

from __future__ import annotations

from dataclasses import dataclass, field

from tile_emulator.ptx.lexer import Lines


@dataclass(frozen=True, slots=True)
class Reg:
    """A register; names of inner scopes carry a suffix, so that they are unique in a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Imm:
    """A literal: `kind` is `int`, `f32` or `f64`, and `value` the integer or the float's bits."""

    kind: str
    value: int


@dataclass(frozen=True, slots=True)
class Sym:
    """A variable, a label, a function or a special register, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Mem:
    """`[base + offset]`; `extra` holds what follows a comma inside the brackets."""

    base: Reg | Imm | Sym
    offset: int = 0
    extra: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vec:
    """`{a, b, ...}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: two results."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """`!p`."""

    value: Operand


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a result that nobody wants."""


@dataclass(frozen=True, slots=True)
class Args:
    """`(a, b)`: parameters of a call."""

    items: tuple[Operand, ...]


Operand = Reg | Imm | Sym | Mem | Vec | Pair | Not | Sink | Args


@dataclass(slots=True)
class Instruction:
    """One instruction: `opcode` as written, `parts` its pieces between dots."""

    opcode: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Reg | None
    guard_negated: bool
    line: int
    column: int
    source: tuple[str, int] | None
    scopes: tuple[int, ...]
    text: str = ""

    @property
    def family(self) -> str:
        return self.parts[0]


@dataclass(frozen=True, slots=True)
class Param:
    """The parameter `name` of a function, of `size` bytes at multiples of `align` bytes.

    `register` tells that it is declared in `.reg` instead of `.param`.
    """

    name: str
    size: int
    align: int
    register: bool = False


@dataclass(slots=True)
class Variable:
    """The variable `name` of the state space `space`, such as `shared` or `global`.

    It has `size` bytes at multiples of `align` bytes. `init` holds its first bytes, `pointers` what
    is filled in at load: where, the variable pointed to, and an offset. An `external` one is
    declared only.
    """

    name: str
    space: str
    size: int
    align: int
    init: bytes = b""
    pointers: list[tuple[int, str, int]] = field(default_factory=list)
    external: bool = False


@dataclass(slots=True)
class Function:
    """The function `name`, a kernel where `is_entry`, declared in `line`.

    `params` and `returns` are what it takes and gives. `registers` are types by name, `variables`
    those declared inside, `labels` places in `body` by scope and name, and `tables` the targets of
    indirect branches. `body` is None for a declaration. `reqntid`, `maxntid` and
    `reqnctapercluster` are the directives of that name, or None.
    """

    name: str
    is_entry: bool
    params: list[Param]
    returns: list[Param]
    line: int
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    labels: dict[tuple[int, str], int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    body: list[Instruction] | None = None
    reqntid: tuple[int, int, int] | None = None
    maxntid: tuple[int, int, int] | None = None
    reqnctapercluster: tuple[int, int, int] | None = None

    @property
    def shared(self) -> list[Variable]:
        """The static shared variables declared inside this function."""
        return [v for v in self.variables.values() if v.space == "shared"]


Kernel = Function


@dataclass(slots=True)
class Module:
    """A parsed PTX file: its `version` and `target`, and `functions` and `variables` by name.

    `lines` maps lines of the file to lines of its source.
    """

    version: str
    target: str
    functions: dict[str, Function]
    variables: dict[str, Variable]
    lines: Lines

    @property
    def kernels(self) -> dict[str, Function]:
        """The entry functions by name."""
        return {n: f for n, f in self.functions.items() if f.is_entry and f.body is not None}
