# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage run: launch a kernel of a compiled module on device tensors, without host code and copies.

A launch that has been made before with tensors of the same layout only reads their pointers, packs
the kernel's parameters into bytes, and calls the run-time library once, in C++ (`KnownLaunch`).
What is new is checked first, against the types that the kernel had before it was lowered.
"""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, NoReturn

from mlir_tile._tile import KnownArguments, KnownLaunch
from mlir_tile.errors import Launch, LaunchError
from mlir_tile.runtime.devices import CURRENT, device_info, resolve_device
from mlir_tile.runtime.driver_emulator import Session
from mlir_tile.runtime.emulation import run_emulated
from mlir_tile.runtime.kernel_signature import KernelSignature, SharedNames
from mlir_tile.runtime.library import DirectLaunch, Failure, cuda_driver, library
from mlir_tile.runtime.parameters import Parameters
from mlir_tile.runtime.signature import is_on_gpu
from mlir_tile.runtime.streams import LEGACY, current_stream_of, stream_handle
from mlir_tile.runtime.tensors import FAST_READERS, Tensor, owner_of, read_tensor
from mlir_tile.validation import integer, seconds

__all__ = ["BoundKernel", "Kernel", "KernelImage"]

Dim = int | tuple[int, ...] | None

_MANY = 256  # layouts and launches that are remembered of a kernel before all are forgotten


class KernelImage:
    """The binary of a `gpu.module` in the run-time library, loaded where it is first launched.

    `image` is PTX if `is_text`, which the driver compiles at `opt_level`, else a cubin.
    """

    def __init__(self, image: bytes, is_text: bool, opt_level: int) -> None:
        runtime = library()
        if is_text:
            self.handle = runtime.mgpuModuleLoadJIT(image, opt_level)
        else:
            self.handle = runtime.mgpuModuleLoad(image, len(image))
        # At the end of the process the driver cleans up itself.
        weakref.finalize(self, runtime.mgpuModuleUnload, self.handle).atexit = False


class Settings(NamedTuple):
    """How the emulator runs a kernel, as `Executable.invoke` takes it."""

    schedule: str | None = None
    checks: str | None = None
    timeout: float | None = None
    keep_going: bool = False


DEFAULT = Settings()


class Kernel:
    """A kernel of a compiled module, launched by `kernel[grid, block, cluster, smem, stream](...)`.

    - `grid`, `block`, `cluster`: an integer or a tuple of up to three. `block` may be left out, or
      None, where the kernel has a `known_block_size`; without a `cluster` the kernel's own is
      taken, else 1.
    - `smem`: bytes of dynamic shared memory, as `dynamic_shared_memory_size` in a launch.
    - `stream`: as `Executable.invoke` takes one. Without it the launch goes to the current stream
      of the library that owns the tensors, PyTorch or CuPy; to the stream that a tensor names by
      `__cuda_array_interface__`; and to the legacy stream for all others.

    The call takes a device tensor for each memref and a number for each scalar, and returns without
    waiting. It keeps no tensor alive: one that is used on another stream than its library knows of
    must live until that work is done, as PyTorch's `record_stream` says; and the kernel must live
    as long as a CUDA graph that holds its launch. On the emulator the call takes NumPy arrays, and
    returns when the kernel has ended. Kernels may write to every memref.
    """

    def __init__(
        self,
        signature: KernelSignature,
        image: KernelImage,
        device: str = "auto",
        settings: Settings = DEFAULT,
        names: SharedNames | None = None,
    ) -> None:
        """Take the kernel of that `signature` from `image`.

        `device` and the `settings` are those of `Executable.kernel`; the emulator's reports call
        shared memory by `names`.
        """
        if signature.unsupported:
            raise TypeError(
                f"kernel '{signature.name}' cannot be launched from Python: {signature.unsupported}"
            )
        if settings != DEFAULT:
            if settings.timeout is not None:
                settings = settings._replace(timeout=seconds("timeout", settings.timeout))
            device = "emulator" if device == "auto" else device
            if device != "emulator":
                raise ValueError('schedule, checks, timeout and keep_going need device="emulator"')
            Session(*settings)  # which says what is wrong with them
        resolve_device(device)
        self.signature = signature
        self.device = device
        self._settings = settings
        self._names = names
        self._image = image
        name = signature.name.encode()
        self._handle = library().tile_runtime_kernel(image.handle, name)
        self.parameters = Parameters(signature)
        self._known: dict[tuple[Hashable, ...], KnownArguments] = {}
        self._readers: dict[type, Callable[[Any], tuple[int, Hashable]]] = {}
        self._bound: dict[Hashable, BoundKernel] = {}

    def __repr__(self) -> str:
        signature = self.signature
        arguments = ", ".join(map(str, signature.arguments))
        sizes = [f"cluster {_x(signature.cluster)}", f"device {self.device}"]
        if signature.block is not None:
            sizes.insert(0, f"block {_x(signature.block)}")
        return f"<Kernel {signature.name}({arguments}), {', '.join(sizes)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise _stays(self)

    def __getitem__(self, launch: Any) -> BoundKernel:
        try:
            return self._bound[launch]
        except (KeyError, TypeError):  # new, or lists and the like
            return self._bind(launch)

    def __call__(self, *values: Any, **options: Any) -> NoReturn:
        """Raise `TypeError` that says where the shape of the launch is missing."""
        name = self.signature.name
        raise TypeError(
            f"kernel '{name}' must be launched as kernel[grid, block, cluster, smem, stream](...), "
            "got a call without a grid"
        )

    def _bind(self, launch: Any) -> BoundKernel:
        given = launch if isinstance(launch, tuple) else (launch,)
        if len(given) > 5:
            raise TypeError(
                "a launch is kernel[grid, block, cluster, smem, stream], with tuples for several "
                f"dimensions, got {len(given)} values"
            )
        padded: list[Any] = [*given, None, None, None, None, None]
        grid, block, cluster, smem, stream = padded[:5]
        bound = BoundKernel(self, grid, block, cluster, smem)
        if stream is not None:
            return bound.on(stream)
        with contextlib.suppress(TypeError):  # lists and the like
            _remember(self._bound, launch, bound)
        return bound

    def load(self, device: int | None = None) -> None:
        """Load the kernel on GPU `device` (the current one), so that its first launch need not.

        Raises as a launch does. The emulator has nothing to load.
        """
        ordinal = resolve_device(self.device)
        if ordinal is not None:
            where = ordinal if device is None else device
            if library().tile_runtime_load(cuda_driver(), self._handle, where):
                throw_failure()

    def remember(self, values: tuple[Any, ...], owner: str, known: KnownArguments) -> None:
        """Let arguments laid out as `values`, which `owner` made, be launched as `known`."""
        layouts: list[Hashable] = [None] * len(values)
        for number in self.parameters.memrefs:
            read = FAST_READERS[owner]
            self._readers[type(values[number])] = read
            layouts[number] = read(values[number])[1]
        _remember(self._known, tuple(layouts), known)

    def runs_on_emulator(self, values: tuple[Any, ...]) -> bool:
        """Whether the arguments `values` go to the emulator.

        By its name, or because nothing is on a GPU and there is none.
        """
        if self.device != "auto":
            return self.device == "emulator"
        return not device_info().usable and not any(map(is_on_gpu, values))


class BoundKernel:
    """A `kernel` with the shape of its launch, to be called with its arguments.

    Made by `kernel[grid, block, cluster, smem, stream]`, where `Kernel` says what each may be.
    """

    def __init__(self, kernel: Kernel, grid: Dim, block: Dim, cluster: Dim, smem: Any) -> None:
        signature = kernel.signature
        self._kernel = kernel
        if grid is None:
            raise TypeError(f"kernel '{signature.name}' must be launched with a grid, got None")
        if block is None and signature.block is None:
            raise TypeError(
                f"kernel '{signature.name}' has no known_block_size: its launch must give a block"
            )
        own = DirectLaunch(kernel=kernel._handle)
        own.grid[:] = _dim("grid", grid)
        own.block[:] = signature.block if block is None else _dim("block", block)
        own.has_cluster = cluster is not None
        own.cluster[:] = (1, 1, 1) if cluster is None else _dim("cluster", cluster)
        dynamic_bytes = 0 if smem is None else _word("smem", smem)
        own.shared_bytes = dynamic_bytes + signature.front_bytes
        own.argument_count = kernel.parameters.count
        own.argument_offsets = kernel.parameters.offsets
        for name, given, known in (
            ("grid", own.grid, signature.grid),
            ("block", own.block, signature.block),
        ):
            if known is not None and tuple(given) != known:
                raise self._refusal(
                    own,
                    f"the kernel was compiled for a {name} of {_x(known)} (known_{name}_size), got "
                    f"{_x(given)}",
                )
        if dynamic_bytes < 0:
            raise self._refusal(own, f"smem must not be negative, got {dynamic_bytes}")
        self._launch = own
        self._address = ctypes.addressof(own)
        self._stream: int | None = None
        self._launch_known = self._known_launch()

    def __repr__(self) -> str:
        own, signature = self._launch, self._kernel.signature
        cluster = own.cluster if own.has_cluster else signature.cluster
        sizes = {"grid": own.grid, "block": own.block, "cluster": cluster}
        shown = ", ".join(f"{size} {_x(extents)}" for size, extents in sizes.items())
        shown += f", {own.shared_bytes} bytes of dynamic shared memory"
        return f"<BoundKernel {signature.name}: {shown}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise _stays(self._kernel)

    def on(self, stream: Any) -> BoundKernel:
        """Return the same launch on `stream`, given as to `Kernel`."""
        if self._kernel.device == "emulator":
            raise ValueError("stream must be None on the emulator, which has no streams")
        bound = object.__new__(BoundKernel)
        bound.__dict__.update(self.__dict__)
        bound._stream = stream_handle(stream)
        bound._launch_known = bound._known_launch()
        return bound

    def _known_launch(self) -> Callable[[tuple[Any, ...]], int]:
        """Return what launches with arguments that the kernel knows."""
        kernel = self._kernel
        return KnownLaunch(
            run=_address_of(library().tile_runtime_launch),
            shape=self._address,
            converters=tuple(kernel.parameters.scalars),
            readers=kernel._readers,
            known=kernel._known,
            stream=self._stream,
        ).launch

    def __call__(self, *values: Any) -> None:
        """Launch with these arguments, as the class `Kernel` says.

        Raises `TypeError` or `ValueError` for wrong arguments and `LaunchError` for a launch that
        cannot be, both before anything runs. An error of the kernel itself arrives where its
        library next waits for the device.
        """
        failed = self._launch_known(values)
        if failed == _NOT_KNOWN:
            self._check_and_launch(values)
        elif failed:
            throw_failure()

    def _check_and_launch(self, values: tuple[Any, ...]) -> None:
        kernel = self._kernel
        parameters = kernel.parameters
        if len(values) != len(parameters.scalars):
            raise parameters.wrong_count(len(values))
        if kernel.runs_on_emulator(values):
            return self._emulate(values)
        owners = {number: owner_of(values[number]) for number in parameters.memrefs}
        driver = cuda_driver()
        tensors, stream = self._read(values, owners, driver)  # which own their memory until the end
        device = self._device({n: tensor.device for n, tensor in tensors.items()})
        places = parameters.places(tensors)
        # The streams and the places of other tensors may differ every time, and the current
        # streams of two libraries may come to differ.
        if "" not in owners.values() and len(set(owners.values())) < 2:
            owner = next(iter(owners.values()), "")
            known = KnownArguments(places, driver, device, current_stream_of(owner))
            kernel.remember(values, owner, known)
        if stream is None:
            stream = LEGACY
        for other in {t.stream for t in tensors.values()} - {None, stream}:
            if library().tile_runtime_order(driver, device, other, stream):
                throw_failure()
        fields: list[Any] = []
        for number, place in enumerate(places):
            if place is None:
                convert = parameters.scalars[number]
                assert convert is not None
                fields.append(convert(values[number]))
            else:
                pointer = tensors[number].pointer
                fields += (pointer, (pointer - place.offset_bytes) & _WORD, place.tail)
        packed = parameters.pack(*fields)
        if library().tile_runtime_launch(driver, self._address, device, stream, packed):
            throw_failure()
        return None

    def _read(
        self, values: tuple[Any, ...], owners: dict[int, str], driver: int
    ) -> tuple[dict[int, Tensor], int | None]:
        """Return the tensors by argument number, and the stream that the launch goes to."""
        parameters = self._kernel.parameters
        tensors: dict[int, Tensor] = {}
        late = []
        for number, owner in owners.items():
            value, where = values[number], parameters.where(number)
            if not owner and hasattr(value, "__dlpack__"):
                late.append(number)  # its exporter takes the stream
            else:
                tensors[number] = read_tensor(value, owner, where, driver, self._stream)
        device = self._device({n: tensor.device for n, tensor in tensors.items()})
        streams = {
            f"{parameters.where(number)} ({owner})": current_stream_of(owner)(device)
            for number, owner in owners.items()
            if owner
        }
        stream = self._stream
        if stream is None and len(set(streams.values())) > 1:
            told = ", ".join(f"{place}: 0x{handle:x}" for place, handle in streams.items())
            raise ValueError(
                f"the current streams of the tensors' libraries differ ({told}); give the launch "
                "its stream"
            )
        if stream is None:
            named = (t.stream for t in tensors.values() if t.stream is not None)
            stream = next(iter(streams.values()), next(named, None))
        for number in late:
            where = parameters.where(number)
            tensors[number] = read_tensor(values[number], "", where, driver, stream)
        return tensors, stream

    def _device(self, devices: dict[int, int | None]) -> int:
        """Return the one device of all tensors; without any, that of the kernel."""
        kernel = self._kernel
        is_named = kernel.device not in ("auto", "cuda")
        chosen = resolve_device(kernel.device) if is_named else None
        because = f'as device="{kernel.device}" says'
        for number, device in devices.items():
            if chosen is not None and device not in (None, chosen):
                raise ValueError(
                    f"{kernel.parameters.where(number)} must be on GPU {chosen}, {because}, "
                    f"got a tensor on GPU {device}"
                )
            if chosen is None and device is not None:
                chosen, because = device, f"as argument {number} is"
        if chosen is None:
            chosen = resolve_device(kernel.device)
        return CURRENT if chosen is None else chosen

    def _emulate(self, values: tuple[Any, ...]) -> None:
        kernel = self._kernel
        if self._stream is not None:
            raise ValueError("stream must be None on the emulator, which has no streams")
        fields, spans, _alive = kernel.parameters.of_host_arrays(values)
        packed = kernel.parameters.pack(*fields)

        def run(driver: int, session: Any) -> Failure:
            for first, size in spans:
                session.device.map_host(first, size)
            failure = Failure()
            if library().tile_runtime_launch(driver, self._address, 0, None, packed):
                library().tile_runtime_failure(ctypes.byref(failure))
            return failure

        run_emulated(run, *kernel._settings, names=kernel._names)

    def _refusal(self, own: DirectLaunch, why: str) -> LaunchError:
        name, shared_bytes = self._kernel.signature.name, int(own.shared_bytes)
        taken = own.cluster if own.has_cluster else self._kernel.signature.cluster
        grid, block, cluster = (
            (int(d[0]), int(d[1]), int(d[2])) for d in (own.grid, own.block, taken)
        )
        return LaunchError(
            f"kernel '{name}' (grid {_x(grid)}, block {_x(block)}, cluster {_x(cluster)}, "
            f"{shared_bytes} bytes of dynamic shared memory) cannot be launched: {why}",
            call="cuLaunchKernelEx",
            launch=Launch(name, grid, block, cluster, shared_bytes),
        )


def _stays(kernel: Kernel) -> TypeError:
    return TypeError(
        f"kernel '{kernel.signature.name}' cannot be pickled, as it is loaded in this process; "
        "pickle the Executable, and take the kernel from it there"
    )


_WORD = (1 << 64) - 1
_NOT_KNOWN = -1  # as a `KnownLaunch` returns it


def throw_failure() -> None:
    """Raise the failure of this thread's last launch."""
    failure = Failure()
    library().tile_runtime_failure(ctypes.byref(failure))
    failure.throw()


def _address_of(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def _remember(known: dict[Any, Any], key: Hashable, value: Any) -> None:
    if len(known) >= _MANY:
        known.clear()
    known[key] = value


def _dim(name: str, given: Any) -> tuple[int, int, int]:
    extents = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"{name} must have one to three dimensions, got {given!r}")
    x, y, z = (_word(name, extent, " or a tuple of up to three") for extent in (*extents, 1, 1)[:3])
    return x, y, z


def _word(name: str, given: Any, or_else: str = "") -> int:
    value = integer(name, given, or_else=or_else)
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{name} must fit 32 bits, got {value}")
    return value


def _x(dim: Any) -> str:
    return "x".join(str(int(extent)) for extent in dim)
