# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage run: call the host functions of a compiled module from Python.

Reads the host LLVM dialect module with its GPU binaries; compiles it with MLIR's ExecutionEngine
on first use. Must not know what the kernels do: it converts arguments, chooses the device, and
raises what the run-time library recorded.
"""

from __future__ import annotations

import ctypes
import functools
import io
import os
import threading
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import mlir
from mlir import ir
from mlir.dialects import gpu
from mlir.execution_engine import ExecutionEngine

from mlir_tile.errors import CompileError, Diagnostic, Error, KernelTimeout
from mlir_tile.runtime.devices import resolve_device
from mlir_tile.runtime.emulation import run_emulated
from mlir_tile.runtime.kernel import DEFAULT, Kernel, KernelImage, Settings
from mlir_tile.runtime.kernel_signature import (
    KernelSignature,
    SharedNames,
    kernel_signatures,
    shared_names,
)
from mlir_tile.runtime.library import (
    ENTRY_POINTS,
    HOST_ALLOCATORS,
    Failure,
    Options,
    cuda_driver,
    interruption,
    library,
)
from mlir_tile.runtime.results import Results
from mlir_tile.runtime.signature import MemRef, Signature
from mlir_tile.runtime.streams import stream_handle
from mlir_tile.validation import seconds

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
        self._images: dict[str, KernelImage] = {}
        self._kernels: dict[tuple[str, str, str], Kernel] = {}
        self._missing: dict[str, str] = {}
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        signatures = self.__dict__.get("_signatures", {})
        if name in signatures:
            return functools.partial(self.invoke, name)
        known = ", ".join(sorted(signatures)) or "none"
        raise AttributeError(f"no attribute or host function '{name}', have functions: {known}")

    def __repr__(self) -> str:
        functions = [
            f"{name}({', '.join(map(str, signature.arguments))})"
            for name, signature in self._signatures.items()
        ]
        kernels = [f"{module}.{name}" for module, named in self.kernels.items() for name in named]
        host, device = ", ".join(functions), ", ".join(kernels)
        return f"<Executable with functions {host or 'none'}; kernels {device or 'none'}>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._signatures})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this program to the file `path`, which `mlir_tile.load` reads; raises `OSError`."""
        from mlir_tile.runtime import saved

        saved.save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Executable:
        """Return the program in the file `path`, as `mlir_tile.load` does."""
        from mlir_tile.runtime import saved

        return saved.load(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the program itself, not what runs it."""
        from mlir_tile.runtime import saved

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
        schedule: str | None = None,
        checks: str | None = None,
        keep_going: bool = False,
    ) -> Any:
        """Call host function `name`, or `exe.name(...)`, and return its result or None.

        Memrefs come back as NumPy arrays, copied unless the function allocated them; several
        results as a tuple.

        - `args`: for each memref a writeable NumPy array (or what exports DLPack from host memory)
          of its element type and shape, used in place with its strides; for each scalar a number.
        - `device`: "auto" (a GPU of compute capability 9.0 or newer where there is one, else the
          emulator), "cuda" (the caller's current CUDA context, else GPU 0), "cuda:N", "emulator".
        - `stream`: a CUDA stream for the work, as an integer or an object with `cuda_stream`,
          `ptr`, `handle` or `__cuda_stream__`. The call then waits only where the program waits.
        - `timeout`: seconds that any single wait for the GPU may take, or that the emulator may
          work on one launch. The emulator finds waits that cannot end without it.
        - `schedule`, `checks`, `keep_going`: the emulator's, as `tile_emulator.Device` takes them.
          With one of them "auto" is the emulator, even where there is a GPU. What a kernel goes on
          after (`keep_going`) is an `EmulatorWarning`.

        Raises `TypeError` or `ValueError` for wrong arguments before anything runs,
        `DeviceUnavailable`, `LaunchError` and what derives from it. After a failure the rest of
        the host function's device work is skipped, so the arrays hold what they held by then.
        """
        signature = self._signatures.get(name)
        if signature is None:
            known = ", ".join(sorted(self._signatures)) or "none"
            raise ValueError(f"no host function '{name}' with llvm.emit_c_interface, have: {known}")
        timeout = None if timeout is None else seconds("timeout", timeout)
        values, alive = signature.convert(args)
        results = Results(signature, alive)
        packed = _pack(signature, values, results)
        emulated = schedule is not None or checks is not None or keep_going
        if device == "auto" and emulated:
            device = "emulator"
        ordinal = resolve_device(device)
        function = self._function(name)
        try:
            if ordinal is None:
                if stream is not None:
                    raise ValueError("stream must be None on the emulator, which has no streams")
                options = Options(0, 0, None, 0.0)
                run_emulated(
                    lambda driver, _: _run(driver, options, function, packed),
                    schedule,
                    checks,
                    timeout,
                    keep_going,
                    self._names,
                )
            else:
                if emulated:
                    raise ValueError('schedule, checks and keep_going need device="emulator"')
                handle = None if stream is None else stream_handle(stream)
                options = Options(
                    ordinal, handle is not None, handle, timeout or 0.0, interruption()
                )
                failure = _run(cuda_driver(), options, function, packed)
                if failure.kind:
                    failure.throw()
        except (KernelTimeout, KeyboardInterrupt):
            if ordinal is not None:
                _abandoned.append((self, values, alive, args, packed))
            raise
        except BaseException:
            results.discard()
            raise
        return results.read()

    @functools.cached_property
    def _names(self) -> SharedNames:
        return shared_names(self._module.operation)

    @functools.cached_property
    def kernels(self) -> dict[str, dict[str, KernelSignature]]:
        """The kernels that can be launched without host code, by `gpu.module`."""
        return kernel_signatures(self._module.operation)

    def kernel(
        self,
        module: str,
        name: str,
        device: str = "auto",
        *,
        schedule: str | None = None,
        checks: str | None = None,
        timeout: float | None = None,
        keep_going: bool = False,
    ) -> Kernel:
        """Return kernel `name` of the `gpu.module` `module`, to be launched on device tensors.

        `exe.kernel("kernels", "copy")[grid, block, cluster, smem, stream](...)`, see `Kernel`. With
        `device` "auto" the arguments decide: device tensors run on their GPU, and NumPy arrays on
        the emulator where there is no GPU. `schedule`, `checks`, `timeout` and `keep_going` are the
        emulator's, as for `invoke`; with one of them "auto" is the emulator, even where there is a
        GPU.

        Raises `TypeError` or `ValueError` for wrong arguments.
        """
        signature = self.kernels.get(module, {}).get(name)
        if signature is None:
            known = ", ".join(f"{m}.{k}" for m, kernels in self.kernels.items() for k in kernels)
            why = ""
            if module not in self.kernels and _binary(self._module, module) is not None:
                why = f"; '{module}' was outlined from a gpu.launch, for host functions only"
            raise ValueError(f"no kernel '{module}.{name}', have: {known or 'none'}{why}")
        settings = Settings(schedule, checks, timeout, keep_going)
        key = (module, name, device)
        with self._lock:
            if settings == DEFAULT and key in self._kernels:
                return self._kernels[key]
            if module not in self._images:
                self._images[module] = _image(self._module, module, self._opt_level)
            made = Kernel(signature, self._images[module], device, settings, self._names)
            if settings == DEFAULT:
                self._kernels[key] = made
        return made

    def _function(self, name: str) -> Any:
        with self._lock:
            if self._engine is None:
                engine = self._make_engine()
                engine.initialize()
                self._engine = engine
            entry = f"_mlir_ciface_{name}"
            if entry in self._missing:
                raise Error(
                    f"'{name}' cannot be called: it needs the function or variable "
                    f"'{self._missing[entry]}', which neither the program nor a loaded library has"
                )
            if name not in self._functions:
                address = self._engine.raw_lookup(entry)
                if not address:
                    raise Error(f"the compiled module has no function '{entry}'")
                self._functions[name] = _PACKED(address)
            return self._functions[name]

    def _make_engine(self) -> ExecutionEngine:
        _check_names(self._module)
        libraries = _runner_libraries(self._module)
        self._missing = _missing_symbols(self._module, libraries)
        module = _without(self._module, self._missing) if self._missing else self._module
        said: list[str] = []

        def keep(diagnostic: ir.Diagnostic) -> bool:
            said.append(str(diagnostic))
            return True

        handler = self._module.context.attach_diagnostic_handler(keep)
        try:
            engine = ExecutionEngine(module, opt_level=self._opt_level, shared_libs=libraries)
        except RuntimeError as error:
            reason = f"cannot be compiled: {'; '.join(said) or error}"
            raise CompileError(
                diagnostics=[Diagnostic.elsewhere("the host code", reason)]
            ) from error
        finally:
            handler.detach()
        # By address, because libraries would be searched after the whole process, where another
        # runtime with the same names may have been loaded.
        for name, entry in [
            *zip(ENTRY_POINTS, ENTRY_POINTS, strict=True),
            *HOST_ALLOCATORS.items(),
        ]:
            address = ctypes.cast(getattr(library(), entry), ctypes.c_void_p)
            engine.raw_register_runtime(name, address)
        return engine

    def _generate_host_code(self) -> None:
        """Do all that the first call of each host function does, but run nothing."""
        engine = self._make_engine()
        for name in self._signatures:
            if (entry := f"_mlir_ciface_{name}") not in self._missing:
                engine.raw_lookup(entry)


def _check_names(module: ir.Module) -> None:
    """Raise `CompileError` for a function that the engine would have twice, and end the process."""
    taken = {*ENTRY_POINTS, *HOST_ALLOCATORS}
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and op.operation.regions[0].blocks:
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            if name in taken:
                raise CompileError(
                    f"host function '{name}' has the name of a function of the run-time library: "
                    "rename it"
                )


def _missing_symbols(module: ir.Module, libraries: Sequence[str]) -> dict[str, str]:
    """Return what of a host program cannot be linked, each with the name that is missing.

    One such function would make the engine refuse all others too.
    """
    ops = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name in ("llvm.func", "llvm.mlir.global")
    }
    given = [ctypes.CDLL(None), *map(ctypes.CDLL, libraries)]
    known = {*ENTRY_POINTS, *HOST_ALLOCATORS}
    missing = {
        name: name
        for name, op in ops.items()
        if op.name == "llvm.func"
        and not op.regions[0].blocks
        and name not in known
        and not name.startswith("llvm.")
        and not any(hasattr(library, name) for library in given)
    }
    if not missing:
        return {}
    uses = {name: _symbols_in(op) for name, op in ops.items()}
    while found := {
        name: missing[min(used & missing.keys())]
        for name, used in uses.items()
        if name not in missing and used & missing.keys()
    }:
        missing |= found
    return missing


def _symbols_in(op: ir.Operation) -> set[str]:
    used: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        used.update(
            ir.FlatSymbolRefAttr(attribute).value
            for attribute in inner.attributes.values()
            if isinstance(attribute, ir.FlatSymbolRefAttr)
        )
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return used


def _without(module: ir.Module, names: Container[str]) -> ir.Module:
    """Return a copy of a host program without the functions and variables of these names."""
    copy = _as_module(module.operation)
    for op in list(copy.body.operations):
        if op.operation.name in ("llvm.func", "llvm.mlir.global") and (
            ir.StringAttr(op.attributes["sym_name"]).value in names
        ):
            op.operation.erase()
    return copy


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


def _pack(signature: Signature, values: list[Any], results: Results) -> Any:
    """Return the array of pointers that packed functions take."""
    # Memrefs are passed by the address of their descriptor, scalars by value.
    holders = results.packed(
        [
            ctypes.c_void_p(ctypes.addressof(value)) if isinstance(argument, MemRef) else value
            for argument, value in zip(signature.arguments, values, strict=True)
        ]
    )
    packed = (ctypes.c_void_p * len(holders))(*map(ctypes.addressof, holders))
    packed._alive = (holders, values, results)  # type: ignore[attr-defined]
    return packed


def _image(module: ir.Module, name: str, opt_level: int) -> KernelImage:
    """Return the binary of a `gpu.module` as it is embedded in the host program."""
    binary = _binary(module, name)
    if binary is None:
        raise Error(f"the compiled module has no binary of '{name}'")
    is_text = binary.format == gpu.CompilationTarget.Assembly
    return KernelImage(binary.object, is_text, opt_level)


def _binary(module: ir.Module, name: str) -> Any:
    """Return the `gpu.ObjectAttr` of a `gpu.module`, None if there is none."""
    for op in module.body.operations:
        if op.operation.name == "gpu.binary":
            attributes = op.operation.attributes
            if ir.StringAttr(attributes["sym_name"]).value == name:
                return gpu.ObjectAttr(ir.ArrayAttr(attributes["objects"])[0])
    return None


def _as_module(op: ir.OpView | ir.Operation) -> ir.Module:
    """Return a module of its own for a `builtin.module` op, as the engine wants one."""
    bytecode = io.BytesIO()
    op.operation.write_bytecode(bytecode)
    with op.context:
        return ir.Module.parse(bytecode.getvalue())


def _runner_libraries(module: ir.Module) -> list[str]:
    """MLIR's own host libraries, for the printing of memrefs, where they are and load.

    The engine ends the process over one that does not. None where the program calls nothing that
    may be in them: loading them takes longer than compiling host code.
    """
    declared = {
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in module.body.operations
        if op.operation.name == "llvm.func" and not op.operation.regions[0].blocks
    }
    if declared <= {*ENTRY_POINTS, *HOST_ALLOCATORS}:
        return []
    # Several wheels make up the package, which need not be in one folder.
    paths = [Path(folder) / "lib" / name for name in _RUNNER_LIBRARIES for folder in mlir.__path__]
    return [str(path) for path in paths if path.exists() and _loads(path)]


def _loads(path: Path) -> bool:
    try:
        ctypes.CDLL(str(path))
    except OSError:
        return False
    return True
