# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse PTX text into a `Module`.

Reads the grammar of the PTX manual as LLVM and nvcc print it. What an instruction means is not
decided here, nor whether it is known: only its shape is.
"""

from __future__ import annotations

import re
import struct
from dataclasses import replace

from tile_emulator.errors import PTXError
from tile_emulator.limits import MOST_CHARACTERS
from tile_emulator.ptx.body import BodyParser
from tile_emulator.ptx.lexer import Lines, Token, number, tokenize
from tile_emulator.ptx.module import Function, Module, Param, Variable
from tile_emulator.ptx.types import type_bytes

_LINKAGE = {".visible", ".extern", ".weak", ".common", ".internal"}
_SPACES = {".global": "global", ".const": "const", ".shared": "shared"}
_DIMENSIONS = {".reqntid": "reqntid", ".maxntid": "maxntid"}


class TokenStream:
    """Tokens with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self.lines = Lines(text)
        self.tokens = tokenize(text, self.lines)
        self.index = 0

    @property
    def text(self) -> str:
        return self.tokens[self.index].text

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def take(self) -> str:
        token = self.tokens[self.index]
        if token.kind == "end":
            raise self.error("unexpected end of the text")
        self.index += 1
        return token.text

    def accept(self, text: str) -> bool:
        if self.tokens[self.index].text == text:
            self.index += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected '{text}', got '{self.text}'")

    def number(self) -> tuple[str, int]:
        """Take a number; returns its kind and its value or bits."""
        token = self.token
        if token.kind != "number":
            raise self.error(f"expected a number, got '{token.text}'")
        self.index += 1
        try:
            return number(token.text)
        except (ValueError, OverflowError):
            raise self.error("a number is too long", token.offset) from None

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.token
        kind, value = self.number()
        if kind != "int":
            raise self.error(f"expected an integer, got '{token.text}'", token.offset)
        return sign * value

    def count(self) -> int:
        """Take a number of elements."""
        token = self.token
        value = self.integer()
        if value < 0:
            raise self.error(f"a size must not be negative, got {value}", token.offset)
        return value

    def alignment(self) -> int:
        """Take a number of bytes that is a power of two."""
        token = self.token
        value = self.integer()
        if value < 1 or value & (value - 1):
            raise self.error(f"an alignment must be a power of two, got {value}", token.offset)
        return value

    def error(self, message: str, offset: int | None = None) -> PTXError:
        at = self.token.offset if offset is None else offset
        return PTXError(message, self.lines.line(at), self.lines.column(at))


def parse(text: str) -> Module:
    """Parse `text`; raises PTXError with the line of what cannot be read."""
    if not isinstance(text, str):
        raise TypeError(f"ptx text must be str, got {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise PTXError(
            f"the text has {len(text)} characters, at most {MOST_CHARACTERS} are read", 1
        )
    text = text.rstrip("\0")
    stream = TokenStream(text)
    module = Module("", "", {}, {}, stream.lines)
    files = _files(stream)
    try:
        while stream.token.kind != "end":
            _directive(stream, module, files)
    except RecursionError:
        raise stream.error("brackets are nested too deeply") from None
    if not module.version:
        raise PTXError("expected '.version', got other text", 1)
    return module


def _files(stream: TokenStream) -> dict[int, str]:
    """Return the source files by number; nvcc declares them after the functions that use them."""
    tokens = stream.tokens
    return {
        int(number.text): name.text.strip('"')
        for word, number, name in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if word.text == ".file" and number.text.isdecimal()
    }


def _directive(
    stream: TokenStream,
    module: Module,
    files: dict[int, str],
) -> None:
    word = stream.text
    if word == ".version":
        stream.take()
        module.version = stream.take()
    elif word == ".target":
        stream.take()
        module.target = stream.take()
        while stream.accept(","):
            stream.take()
    elif word == ".address_size":
        stream.take()
        if stream.integer() != 64:
            raise stream.error("unsupported address size: 64 is the only one")
    elif word == ".file":
        stream.take()
        stream.integer()
        stream.take()
        while stream.accept(","):
            stream.take()
    elif word == ".section":
        while stream.text != "{":
            stream.take()
        _skip_braces(stream)
    elif word in _LINKAGE or word in _SPACES or word in (".entry", ".func"):
        _declaration(stream, module, files)
    elif word == ".alias":
        _alias(stream, module)
    elif word == ".pragma":
        while not stream.accept(";"):
            stream.take()
    else:
        raise stream.error(f"unsupported directive '{word}'")


def _alias(stream: TokenStream, module: Module) -> None:
    """Give a function, whose body stands in the module, a second name."""
    stream.take()
    name = stream.take()
    stream.expect(",")
    token = stream.token
    function = module.functions.get(stream.take())
    if function is None or function.body is None or function.is_entry:
        raise stream.error(f"no function '{token.text}' to give an alias", token.offset)
    stream.expect(";")
    module.functions[name] = function


def _skip_braces(stream: TokenStream) -> None:
    stream.expect("{")
    depth = 1
    while depth:
        word = stream.take()
        depth += (word == "{") - (word == "}")


def _declaration(
    stream: TokenStream,
    module: Module,
    files: dict[int, str],
) -> None:
    external = False
    while stream.text in _LINKAGE:
        external |= stream.take() == ".extern"
    word = stream.take()
    if word in _SPACES:
        for variable in variables(stream, _SPACES[word], external):
            module.variables[variable.name] = variable
        return
    if word not in (".entry", ".func"):
        raise stream.error(f"unsupported directive '{word}'")
    function = _function(stream, word == ".entry")
    known = module.functions.get(function.name)
    if stream.text == "{":
        BodyParser(stream, function, files).parse()
        module.functions[function.name] = function
    else:
        stream.accept(";")
        if known is None:
            module.functions[function.name] = function


def _function(stream: TokenStream, is_entry: bool) -> Function:
    line = stream.lines.line(stream.token.offset)
    returns = _params(stream) if not is_entry and stream.text == "(" else []
    if stream.token.kind != "word":
        raise stream.error(f"expected a name, got '{stream.text}'")
    name = stream.take()
    params = _params(stream) if stream.text == "(" else []
    function = Function(name, is_entry, params, returns, line)
    while stream.text.startswith("."):
        word = stream.take()
        if word in _DIMENSIONS:
            setattr(function, _DIMENSIONS[word], _triple(stream))
        elif word == ".reqnctapercluster":
            function.reqnctapercluster = _triple(stream)
        elif word in (".minnctapersm", ".maxnctapersm", ".maxnreg", ".maxclusterrank"):
            stream.integer()
        elif word == ".pragma":
            stream.take()
            stream.accept(";")
        elif word not in (".explicitcluster", ".noreturn", ".blocksareclusters"):
            raise stream.error(f"unsupported directive '{word}'")
    return function


def _triple(stream: TokenStream) -> tuple[int, int, int]:
    token = stream.token
    values = [stream.integer()]
    while stream.accept(","):
        values.append(stream.integer())
    if len(values) > 3 or min(values) < 1:
        raise stream.error("expected one to three positive numbers", token.offset)
    values += [1] * (3 - len(values))
    return values[0], values[1], values[2]


def _params(stream: TokenStream) -> list[Param]:
    stream.expect("(")
    params = []
    while not stream.accept(")"):
        word = stream.take()
        if word not in (".param", ".reg"):
            raise stream.error(f"expected '.param', got '{word}'")
        params.append(replace(parameter(stream), register=word == ".reg"))
        stream.accept(",")
    return params


def parameter(stream: TokenStream) -> Param:
    """Parse what follows `.param`: type, attributes, name, array size."""
    align = element = 0
    while stream.text.startswith("."):
        word = stream.take()
        if word == ".align":
            value = stream.alignment()
            align = align or value
        elif word == ".ptr":
            while stream.text.startswith("."):
                if stream.take() == ".align":
                    stream.alignment()
        else:
            size = type_bytes(word[1:])
            if size is None:
                raise stream.error(f"unsupported parameter type '{word}'")
            element = size
    name = stream.take()
    count = 1
    if stream.accept("["):
        count = 0 if stream.text == "]" else stream.count()
        stream.expect("]")
    return Param(name, element * count, align or element)


def variables(stream: TokenStream, space: str, external: bool) -> list[Variable]:
    """Parse what follows a state space up to the semicolon."""
    align, element, kind = 0, 0, ""
    lanes = 1
    while stream.text.startswith("."):
        word = stream.take()
        if word == ".align":
            align = stream.alignment()
        elif word in (".v2", ".v4"):
            lanes = int(word[2:])
        elif word.startswith(".attribute"):
            stream.expect("(")
            while not stream.accept(")"):
                stream.take()
        else:
            size = type_bytes(word[1:])
            if size is None:
                raise stream.error(f"unsupported type '{word}' of a variable")
            element, kind = size, word[1:]
    found = []
    while True:
        name = stream.take()
        count, open_ended = 1, False
        while stream.accept("["):
            if stream.text == "]":
                open_ended = True
            else:
                count *= stream.count()
            stream.expect("]")
        variable = Variable(
            name, space, 0 if open_ended else element * lanes * count, align or element * lanes
        )
        variable.external = external or open_ended
        if stream.accept("="):
            _initializer(stream, variable, kind, element)
            if open_ended:
                variable.size, variable.external = len(variable.init), False
        found.append(variable)
        if not stream.accept(","):
            break
    stream.expect(";")
    return found


def _initializer(stream: TokenStream, variable: Variable, kind: str, element: int) -> None:
    data = bytearray()

    def value() -> None:
        if stream.accept("{"):
            while not stream.accept("}"):
                value()
                stream.accept(",")
            return
        negative = stream.accept("-")
        token = stream.token
        if token.kind == "number":
            number_kind, bits = stream.number()
            data.extend(_encode(number_kind, -bits if negative else bits, kind, element))
            return
        mask = re.fullmatch(r"0[xX][fF]+", token.text)
        if mask:
            raise stream.error("unsupported masked initialiser")
        name = stream.take()
        if name == "generic":
            stream.expect("(")
            name = stream.take()
            stream.expect(")")
        offset = stream.integer() if stream.accept("+") else 0
        if element != 8:
            raise stream.error(f"the address of '{name}' needs 64 bits", token.offset)
        variable.pointers.append((len(data), name, offset))
        data.extend(bytes(element))

    value()
    variable.init = bytes(data)


def _encode(number_kind: str, bits: int, kind: str, element: int) -> bytes:
    if number_kind == "f32" and kind == "f64":
        bits = struct.unpack("<Q", struct.pack("<d", *struct.unpack("<f", _u32(bits))))[0]
    elif number_kind == "f64" and kind == "f32":
        number_value = struct.unpack("<d", struct.pack("<Q", bits & (2**64 - 1)))[0]
        bits = struct.unpack("<I", struct.pack("<f", number_value))[0]
    whole: int = int(bits) & (256**element - 1)
    return whole.to_bytes(element, "little")


def _u32(bits: int) -> bytes:
    return (bits & 0xFFFFFFFF).to_bytes(4, "little")
