# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From MLIR to an executable: parsing, the stages, and `compile`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlir import ir

from . import _tile, pipeline, validation
from .binaries import embedded_ptx
from .contexts import context, one_thread
from .diagnostics import compile_error, diagnostic_lines, diagnostics_of, place, warn_of
from .kernel_table import KERNEL_TABLE, kernel_table
from .runtime.errors import CompileError, Error
from .scripted import run_passes
from .target import DEFAULT_CHIP, DEFAULT_FEATURES, ptx_versions

if TYPE_CHECKING:
    from mlir.dialects import builtin

    from .runtime.executable import Executable

STAGES = ("analyze", "legalize", "nvvm", "ptx", "cubin", "fatbin")
FORMATS = {"ptx": "isa", "cubin": "bin", "fatbin": "fatbin"}
"""What upstream calls the stages at whose end something is embedded."""


def parse(text: str | bytes) -> ir.Module:
    """Parse the module `text`, as text or bytecode, in the current context.

    Raises `CompileError` with the diagnostics of the parser and the verifier, `RuntimeError` where
    there is no context.
    """
    return _parsed(text.encode() if isinstance(text, str) else text, "-")


def parse_file(path: str | os.PathLike[str]) -> ir.Module:
    """Parse the module in a file, as text or bytecode, in the current context.

    Diagnostics name `path`. Raises `OSError` where it cannot be read, else as `parse` does.
    """
    # MLIR takes UTF-8 only, which names of files need not be.
    name = os.fspath(path).encode(errors="backslashreplace").decode()
    return _parsed(Path(path).read_bytes(), name)


def _parsed(content: bytes, name: str) -> ir.Module:
    """Return the module in `content`, whose locations and diagnostics call it `name`."""
    current = ir.Context.current
    if current is None:
        raise RuntimeError(
            "a module must be parsed in a context: enter `with mlir_tile.context():`"
        )
    is_text = not content.startswith(_BYTECODE)
    if is_text:
        _check_strings(content, name, is_text)
        _check_numbers(content, name)
        _check_nesting(content, name)
    said: list[str] = []

    def note(diagnostic: ir.Diagnostic) -> bool:
        is_error: bool = diagnostic.severity == ir.DiagnosticSeverity.ERROR
        if is_error:
            try:
                said.extend(diagnostic_lines(diagnostic))
            except (RuntimeError, UnicodeError) as error:
                # The bindings can make no `str` of the text.
                said.append(f"{name}: error: cannot be parsed, nor said why: {error}")
        return is_error

    handler = current.attach_diagnostic_handler(note)
    try:
        with one_thread(current):
            module = _tile.parse(current, content, name)
    finally:
        handler.detach()
    if module is None:
        what = "the module" if name == "-" else name
        raise CompileError("\n".join(said) or f"cannot parse {what}", said)
    if not is_text:
        printed = module.operation.get_asm(enable_debug_info=True)
        _check_strings(printed.encode(), name, is_text)
    return module


def _check_strings(text: bytes, name: str, is_text: bool) -> None:
    """Raise `CompileError` for a string in MLIR's text that is not UTF-8, at its place.

    Upstream's bindings cannot make a `str` of it, amidst a diagnostic or a pass. A zero
    byte in the name of a symbol ends the process where LLVM gets to it.
    """
    if text.isascii() and not _UNUSUAL_ESCAPE.search(text):
        return
    for string in _STRING.finditer(text):
        begin = text.rfind(b"\n", 0, string.start()) + 1
        before = text[begin : string.start()]
        if b"//" in before:
            continue
        value = _ESCAPE.sub(lambda e: e[2] or bytes.fromhex(e[1].decode()), string[1])
        if b"\0" in value and before.endswith((b"@", b"sym_name = ")):
            rule = "symbol must have no zero byte"
        elif not _is_utf8(value):
            rule = "text in a module must be UTF-8"
        else:
            continue
        line = text.count(b"\n", 0, string.start()) + 1
        at = f"{name}:{line}:{len(before) + 1}" if is_text else name
        error = f"{at}: error: {rule}, got {string[0].decode(errors='backslashreplace')}"
        raise CompileError(error, [error])


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_numbers(text: bytes, name: str) -> None:
    """Raise `CompileError` for a number that upstream's parser would spend seconds or hours on."""
    for number in _LONG_NUMBER.finditer(text):
        begin = text.rfind(b"\n", 0, number.start()) + 1
        if b"//" not in text[begin : number.start()]:
            line = text.count(b"\n", 0, number.start()) + 1
            error = (
                f"{name}:{line}:{number.start() - begin + 1}: error: number must have at most "
                f"{_MOST_DIGITS} digits, got {len(number[0])}"
            )
            raise CompileError(error, [error])


def _check_nesting(text: bytes, name: str) -> None:
    """Raise `CompileError` for nesting that makes upstream's parser run out of stack."""
    if sum(map(text.count, _OPEN)) <= _MOST_BRACKETS:
        return
    depth = 0
    for token in _BRACKET.finditer(text):
        depth += (token[0] in _OPEN) - (token[0] in _CLOSED)
        if depth > _MOST_BRACKETS:
            begin = text.rfind(b"\n", 0, token.start()) + 1
            line = text.count(b"\n", 0, token.start()) + 1
            error = (
                f"{name}:{line}:{token.start() - begin + 1}: error: nesting must be at most "
                f"{_MOST_BRACKETS} brackets deep"
            )
            raise CompileError(error, [error])


_MOST_BRACKETS = 1000
_OPEN, _CLOSED = (b"[", b"{", b"<"), (b"]", b"}", b">")
# A string or a comment, angles that are no brackets, or a bracket.
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|//[^\n]*|->|[<>]=|[][{}<>]')
_MOST_DIGITS = 1000
_LONG_NUMBER = re.compile(rb"(?<![\w.\"])\d{%d,}" % (_MOST_DIGITS + 1))
_BYTECODE = b"ML\xefR"
_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(?:([0-9a-fA-F]{2})|(.))")
_UNUSUAL_ESCAPE = re.compile(rb"\\(?:[89a-fA-F][0-9a-fA-F]|00)")


def lower(
    module: ir.Module | builtin.ModuleOp,
    to: str,
    *,
    chip: str = DEFAULT_CHIP,
    features: str = DEFAULT_FEATURES,
    opt_level: int = 3,
    line_info: bool = False,
    remarks: bool = False,
) -> builtin.ModuleOp:
    """Return a copy of `module` as it leaves stage `to`; the module itself stays as it is.

    The copy is an op, which upstream's bindings cannot make an `ir.Module` of; an
    `ExecutionEngine` wants one, which `ir.Module.parse(str(lowered))` is.

    `to` is "analyze", "legalize", "nvvm", or one of those that end in host LLVM IR with something
    embedded: "ptx", "cubin" (what `ptxas` makes of it) or "fatbin" (both). `chip` is an LLVM
    processor, `features` a PTX version such as "+ptx81", and `opt_level` LLVM's, 0 to 3. With
    `line_info` the PTX names source lines; with `remarks` each copy has a diagnostic that says
    which variants were considered.

    Raises `TypeError` and `ValueError` for wrong arguments, such as options that no GPU has, and
    `CompileError` where a stage rejects the program.
    """
    module = validation.module_of("module", module)
    if to not in STAGES:
        raise ValueError(f"to must be one of {', '.join(STAGES)}, got {to!r}")
    validation.flag("remarks", remarks)
    opt_level = _checked(chip, features, opt_level, line_info)
    format = FORMATS.get(to, "isa")
    options = pipeline.Options(chip, features, format, opt_level, line_info, remarks)
    options.check()
    if to in FORMATS:
        _check_no_nested_kernels(module.operation)
    if to in ("cubin", "fatbin"):
        from . import toolkit

        found = toolkit.find_toolkit(("ptxas",) if to == "cubin" else ("ptxas", "fatbinary"))
        for version in ptx_versions(module.operation, features):
            found.check_ptx(version)
        options = dataclasses.replace(options, toolkit=str(found.folder))
    text = {
        "analyze": pipeline.analyze(remarks),
        "legalize": pipeline.legalize(remarks),
    }.get(to) or pipeline.nvvm(options)
    copy = module.operation.clone()
    with module.context:
        try:
            run_passes(copy, f"builtin.module({text})")
            if to in FORMATS:
                kernels = kernel_table(module.operation, copy)
                run_passes(copy, f"builtin.module({pipeline.embed(options)})")
                copy.operation.attributes[KERNEL_TABLE] = kernels
        except ir.MLIRError as error:
            raise compile_error(f"stage {to} failed", error) from None
    return copy


def _check_no_nested_kernels(module: ir.Operation) -> None:
    """Raise `CompileError` for a `gpu.module` that would be left as it is, without a word."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "gpu.module":
            return ir.WalkResult.ADVANCE
        if op.parent.operation == module:
            return ir.WalkResult.SKIP
        nested.append(op)
        return ir.WalkResult.INTERRUPT

    nested: list[ir.Operation] = []
    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in nested:
        at = place(op.location)
        said = [
            f"{at}: error: 'gpu.module' op {op.attributes['sym_name']} must lie in the outermost "
            f"module to be compiled, got one in '{op.parent.operation.name}'",
            f"{at}: note: move it, and what calls its kernels, there",
        ]
        raise CompileError("\n".join(said), said)


def _checked(chip: object, features: object, opt_level: object, line_info: object) -> int:
    """Return the level; raise `TypeError` for options of a wrong type."""
    validation.text("chip", chip)
    validation.text("features", features)
    validation.flag("line_info", line_info)
    return validation.integer("opt_level", opt_level)


def compile(
    module: ir.Module | builtin.ModuleOp | str | bytes,
    *,
    chip: str = DEFAULT_CHIP,
    features: str = DEFAULT_FEATURES,
    opt_level: int = 3,
    line_info: bool = False,
    isolate: bool = False,
    timeout: float | None = None,
) -> Executable:
    """Compile `module` and return its host functions, ready to be called, and its PTX.

    A `str` is parsed as text, `bytes` as text or bytecode, in a context of its own. Callable are
    the `func.func`s with the attribute `llvm.emit_c_interface`. `chip`, `features` and `line_info`
    are those of `lower`; `opt_level` is LLVM's, 0 to 3, for device and host.

    What the compiler warns of is a `CompileWarning`. Raises as `parse` and `lower` do.

    With `isolate` all of it, parsing and the generation of host code included, is done in a forked
    child, for `timeout` seconds at most. What would end the process (an assertion of LLVM, a
    segmentation fault) or would not end (a loop, a text that takes hours) then raises
    `CompilerCrash`; all else is as without, but handlers on the context of `module` hear nothing.
    It takes some 50 ms more. The child is no sandbox: it has all the rights of its parent.
    """
    from .runtime.executable import Executable
    from .runtime.signature import signatures_of

    validation.flag("isolate", isolate)
    timeout = None if timeout is None else validation.seconds("timeout", timeout)
    if timeout is not None and not isolate:
        raise ValueError("timeout needs isolate=True: only another process can be stopped")
    if not isinstance(module, str | bytes):
        module = validation.module_of("module", module)
    opt_level = _checked(chip, features, opt_level, line_info)
    pipeline.Options(chip, features, "isa", opt_level, line_info).check()
    if isolate:
        return _compile_isolated(
            module, timeout, chip=chip, features=features, opt_level=opt_level, line_info=line_info
        )
    if isinstance(module, str | bytes):
        with context():
            module = parse(module)
    signatures = signatures_of(module)
    with diagnostics_of(module.context) as said:
        lowered = lower(
            module, "ptx", chip=chip, features=features, opt_level=opt_level, line_info=line_info
        )
    made = Executable(lowered, embedded_ptx(lowered), signatures, opt_level)
    warn_of(said, stacklevel=2)
    return made


def _compile_isolated(module: Any, timeout: float | None, **options: Any) -> Executable:
    """Return what `compile` makes of `module` in a forked child."""
    from . import saved
    from .isolation import isolated, unheard

    allow_unregistered = False
    if isinstance(module, str | bytes):
        content = module.encode() if isinstance(module, str) else module
    else:
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        content = bytecode.getvalue()
        allow_unregistered = module.context.allow_unregistered_dialects

    def work(record: memoryview) -> bytes:
        with context() as made:
            _tile.watch(made, record)
            made.allow_unregistered_dialects = allow_unregistered
            program = compile(parse(content), **options)
            # What would end the caller later ends here. What only fails is for the caller to see.
            with contextlib.suppress(Error), unheard():
                program._generate_host_code()
            found = saved.to_bytes(program)
            saved.from_bytes(found)
        return found

    return saved.from_bytes(isolated(work, content, timeout, stacklevel=3))
