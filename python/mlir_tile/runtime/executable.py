# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage run: call the host functions of a compiled module from Python.

Reads the host LLVM dialect module with its GPU binaries; compiles it with MLIR's ExecutionEngine
on first use. Must not know what the kernels do: it converts arguments, chooses the device, and
raises what the run-time library recorded.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mlir
from mlir import ir
from mlir.execution_engine import ExecutionEngine

from mlir_tile.runtime.devices import resolve_device
from mlir_tile.runtime.driver_emulator import Session, emulator_driver
from mlir_tile.runtime.dtypes import dtype_of
from mlir_tile.runtime.errors import CompileError, EmulatorError, Error, KernelTimeout
from mlir_tile.runtime.library import (
    ENTRY_POINTS,
    KERNEL_TIMEOUT,
    Failure,
    Options,
    cuda_driver,
    library,
)
from mlir_tile.runtime.signature import MemRef, Signature

__all__ = ["Executable"]

_PACKED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_RUNNER_LIBRARIES = ("libmlir_c_runner_utils.so", "libmlir_runner_utils.so")

# What a kernel that never ends may still write to.
_abandoned: list[Any] = []


class Executable:
    """A compiled program: its PTX by `gpu.module`, and host functions to invoke.

    `module` is the host program in the LLVM dialect, with `gpu.binary` ops that hold PTX or a
    cubin, and `ptx` the same by name; `signatures` gives for each host function its `Signature`, or
    the list of its argument types (MLIR types or their text) from before it was lowered.
    `opt_level` is LLVM's for the host.
    """

    def __init__(
        self,
        module: ir.Module | ir.OpView | ir.Operation,
        ptx: Mapping[str, str],
        signatures: Mapping[str, Signature | Sequence[Any]],
        opt_level: int = 2,
    ) -> None:
        self.ptx = dict(ptx)
        self._module = module if isinstance(module, ir.Module) else _as_module(module)
        self._signatures = {
            name: given if isinstance(given, Signature) else Signature.of(name, given)
            for name, given in signatures.items()
        }
        self._opt_level = opt_level
        self._engine: ExecutionEngine | None = None
        self._functions: dict[str, Any] = {}
        self._lock = threading.Lock()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this program to a file that `mlir_tile.load` reads; raises `OSError`."""
        from mlir_tile import saved

        saved.save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Executable:
        """Return the program in a file, as `mlir_tile.load` does."""
        from mlir_tile import saved

        return saved.load(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the program itself, not what runs it."""
        from mlir_tile import saved

        return saved.from_bytes, (saved.to_bytes(self),)

    @property
    def signatures(self) -> dict[str, Signature]:
        """The host functions that can be invoked."""
        return dict(self._signatures)

    def invoke(
        self,
        name: str,
        *args: Any,
        device: str = "auto",
        stream: Any = None,
        timeout: float | None = None,
        schedule: Any = None,
        checks: Any = None,
    ) -> Any:
        """Call host function `name` and return its result, None where it has none.

        - `args`: for each memref a writeable NumPy array (or what exports DLPack from host memory)
          of its element type and shape, used in place with its strides; for each scalar a number.
        - `device`: "auto" (a GPU of compute capability 9.0 or newer where there is one, else the
          emulator), "cuda" (the caller's current CUDA context, else GPU 0), "cuda:N", "emulator".
        - `stream`: a CUDA stream for the work, as an integer or an object with `cuda_stream`,
          `ptr`, `handle` or `__cuda_stream__`. The call then waits only where the program waits.
        - `timeout`: seconds that any single wait for the GPU may take, or that the emulator may
          work on one launch. The emulator finds waits that cannot end without it.
        - `schedule`, `checks`: passed to the emulator.

        Raises `TypeError` or `ValueError` for wrong arguments before anything runs,
        `DeviceUnavailable`, `LaunchError` and what derives from it. After a failure the rest of
        the host function's device work is skipped, so the arrays hold what they held by then.
        """
        signature = self._signatures.get(name)
        if signature is None:
            known = ", ".join(sorted(self._signatures)) or "none"
            raise ValueError(f"no host function '{name}' with llvm.emit_c_interface, have: {known}")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be a positive number of seconds, got {timeout}")
        values, alive = signature.convert(args)
        packed, result = _pack(signature, values)
        if device == "auto" and (schedule is not None or checks is not None):
            device = "emulator"
        ordinal = resolve_device(device)
        function = self._function(name)
        if ordinal is None:
            if stream is not None:
                raise ValueError("stream must be None on the emulator, which has no streams")
            self._emulate(function, packed, schedule, checks, timeout)
        else:
            if schedule is not None or checks is not None:
                raise ValueError('schedule and checks need device="emulator"')
            handle = None if stream is None else _stream_handle(stream)
            options = Options(ordinal, handle is not None, handle, timeout or 0.0)
            failure = _run(cuda_driver(), options, function, packed)
            if failure.kind == KERNEL_TIMEOUT:
                _abandoned.append((self, values, alive, args, packed))
            if failure.kind:
                failure.throw()
        return None if result is None else result()

    def _emulate(
        self, function: Any, packed: Any, schedule: Any, checks: Any, timeout: float | None
    ) -> None:
        with Session(schedule, checks, timeout) as session:
            failure = _run(emulator_driver(), Options(0, 0, None, 0.0), function, packed)
        exception = session.take_exception()
        if exception is None:
            if failure.kind:
                failure.throw()
            return
        import tile_emulator as te

        if not isinstance(exception, te.Error):
            raise exception
        kind = getattr(exception, "kind", "memory")
        if isinstance(exception, te.LaunchError):
            kind = "launch"
        elif isinstance(exception, te.PTXError):
            kind = "ptx"
        launch = failure.launch()
        if kind == "limit" and timeout is not None:
            raise KernelTimeout(str(exception), call="emulator", launch=launch) from exception
        raise EmulatorError(str(exception), kind=kind, launch=launch) from exception

    def _function(self, name: str) -> Any:
        with self._lock:
            if self._engine is None:
                self._engine = self._make_engine()
            if name not in self._functions:
                address = self._engine.raw_lookup(f"_mlir_ciface_{name}")
                if not address:
                    raise Error(f"the compiled module has no function '_mlir_ciface_{name}'")
                self._functions[name] = _PACKED(address)
            return self._functions[name]

    def _make_engine(self) -> ExecutionEngine:
        diagnostics: list[str] = []

        def keep(diagnostic: ir.Diagnostic) -> bool:
            diagnostics.append(str(diagnostic))
            return True

        handler = self._module.context.attach_diagnostic_handler(keep)
        try:
            engine = ExecutionEngine(
                self._module, opt_level=self._opt_level, shared_libs=_runner_libraries(self._module)
            )
        except RuntimeError as error:
            reason = "; ".join(diagnostics) or str(error)
            raise CompileError(
                f"the host code cannot be compiled: {reason}", diagnostics
            ) from error
        finally:
            handler.detach()
        # By address, because libraries would be searched after the whole process, where another
        # runtime with the same names may have been loaded.
        for name in ENTRY_POINTS:
            entry = ctypes.cast(getattr(library(), name), ctypes.c_void_p)
            engine.raw_register_runtime(name, entry)
        engine.initialize()
        return engine


def _run(driver: int, options: Options, function: Any, packed: Any) -> Failure:
    """Call compiled host code inside a bracket of the run-time library."""
    runtime = library()
    failure = Failure()
    runtime.tile_runtime_begin(driver, ctypes.byref(options))
    try:
        function(packed)
    finally:
        runtime.tile_runtime_end(ctypes.byref(failure))
    return failure


def _pack(signature: Signature, values: list[Any]) -> tuple[Any, Any]:
    """Return the array of pointers that packed functions take, and how to read the result."""
    # Memrefs are passed by the address of their descriptor, scalars by value.
    holders = [
        ctypes.c_void_p(ctypes.addressof(value)) if isinstance(argument, MemRef) else value
        for argument, value in zip(signature.arguments, values, strict=True)
    ]
    result = None
    if signature.result is not None:
        dtype = dtype_of(signature.result.element)
        buffer = ctypes.create_string_buffer(dtype.itemsize)
        holders.append(buffer)

        def result() -> Any:
            return _scalar(buffer.raw, dtype)

    packed = (ctypes.c_void_p * len(holders))(*map(ctypes.addressof, holders))
    packed._alive = (holders, values)  # type: ignore[attr-defined]
    return packed, result


def _scalar(raw: bytes, dtype: Any) -> Any:
    import numpy as np

    value = np.frombuffer(raw, dtype)[0]
    return value.item() if dtype.kind in "bif" else float(value)


def _as_module(op: ir.OpView | ir.Operation) -> ir.Module:
    """Return a module of its own for a `builtin.module` op, as the engine wants one."""
    bytecode = io.BytesIO()
    op.operation.write_bytecode(bytecode)
    with op.context:
        return ir.Module.parse(bytecode.getvalue())


def _stream_handle(stream: Any) -> int:
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return int(value)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    with contextlib.suppress(TypeError, ValueError):
        return int(stream)
    raise TypeError(f"stream must be a CUDA stream or its address, got {type(stream).__name__}")


def _runner_libraries(module: ir.Module) -> list[str]:
    """MLIR's own host libraries, for the printing and copying of memrefs, where they load.

    The engine ends the process over one that does not. None where the program calls nothing that
    may be in them: loading them takes longer than compiling host code.
    """
    declared = {
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in module.body.operations
        if op.operation.name == "llvm.func" and not op.operation.regions[0].blocks
    }
    if declared <= {*ENTRY_POINTS, "malloc", "free"}:
        return []
    folder = Path(next(iter(mlir.__path__))) / "lib"
    return [str(folder / name) for name in _RUNNER_LIBRARIES if _loads(folder / name)]


def _loads(path: Path) -> bool:
    try:
        ctypes.CDLL(str(path))
    except OSError:
        return False
    return True
