# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to a program that can be called: joins the compiler and the runtime."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

from mlir import ir

from . import _tile, validation
from .binaries import embedded_ptx
from .compiler.lowering import checked, lower
from .compiler.parsing import parse
from .compiler.target import DEFAULT_CHIP, DEFAULT_FEATURES
from .contexts import context
from .diagnostics import diagnostics_of, warn_of
from .errors import Error
from .passes.to_binary import Options

if TYPE_CHECKING:
    from mlir.dialects import builtin

    from .runtime.executable import Executable


def compile(
    module: ir.Module | builtin.ModuleOp | str | bytes,
    *,
    chip: str = DEFAULT_CHIP,
    features: str = DEFAULT_FEATURES,
    opt_level: int = 3,
    line_info: bool = True,
    isolate: bool = False,
    timeout: float | None = None,
) -> Executable:
    """Compile `module` and return its host functions, ready to be called, and its PTX.

    A `str` is parsed as text, `bytes` as text or bytecode, in a context of its own. Callable are
    the `func.func`s with the attribute `llvm.emit_c_interface`. `chip`, `features` and `line_info`
    are those of `lower`; with the last one, which changes no machine code, the emulator's reports
    and NVIDIA's tools name source lines. `opt_level` is LLVM's, 0 to 3, for device and host.

    Warnings of the compiler are `CompileWarning`s. Raises what `parse` and `lower` raise.

    With `isolate` everything, including parsing and the generation of host code, happens in a
    forked child, for at most `timeout` seconds. What would end the process (a failed assertion of
    LLVM, a segmentation fault) or would not end (a loop, a text that takes hours) then raises
    `CompilerCrash`. The result is the same, but diagnostic handlers on the context of `module` are
    not called. It takes about 50 ms more. The child is not a sandbox: it has all the rights of its
    parent.
    """
    from .runtime.executable import Executable
    from .runtime.signature import signatures_of

    validation.flag("isolate", isolate)
    timeout = None if timeout is None else validation.seconds("timeout", timeout)
    if timeout is not None and not isolate:
        raise ValueError("timeout needs isolate=True: only another process can be stopped")
    if not isinstance(module, str | bytes):
        module = validation.module_of("module", module)
    opt_level = checked(chip, features, opt_level, line_info)
    Options(chip, features, "isa", opt_level, line_info).check()
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
    from .compiler.isolation import isolated, unheard
    from .runtime import saved

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
            # A crash in code generation must happen here; a mere failure is left to the caller.
            with contextlib.suppress(Error), unheard():
                program._generate_host_code()
            found = saved.to_bytes(program)
            saved.from_bytes(found)
        return found

    return saved.from_bytes(isolated(work, content, timeout, stacklevel=3))
