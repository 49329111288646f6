# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device that users see: memory, and launches of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tile_emulator.checks import parse_checks
from tile_emulator.errors import EmulationError, Error, Fault, LaunchError
from tile_emulator.instructions.builder import build_program, function_addresses
from tile_emulator.instructions.program import Program
from tile_emulator.limits import DEFAULT_MAX_SECONDS, DEFAULT_MAX_STEPS
from tile_emulator.machine.launch import (
    MAX_SHARED_BYTES,
    Launch,
    Policy,
    Report,
    check_launch,
    triple,
)
from tile_emulator.machine.memory import GlobalMemory
from tile_emulator.machine.scheduler import Budget
from tile_emulator.names import SharedName
from tile_emulator.ptx.module import Module
from tile_emulator.validation import integer, seconds


def policies(schedule: str) -> list[Policy]:
    """Read a schedule: `eager`, `late`, `random:SEED`, `explore:N`.

    Raises TypeError for what is no text, else ValueError.
    """
    if not isinstance(schedule, str):
        raise TypeError(f"schedule must be a str, got {schedule!r}")
    name, _, rest = schedule.partition(":")
    if name in ("eager", "late") and not rest:
        return [Policy(name)]
    if name == "random":
        return [Policy("random", rest or "0")]
    if name == "explore" and rest.isdecimal() and int(rest) > 0:
        first = [Policy("eager"), Policy("late")]
        first += [Policy("random", str(seed)) for seed in range(int(rest))]
        return first[: int(rest)]
    raise ValueError(f"schedule must be eager, late, random:SEED or explore:N, got '{schedule}'")


class Device:
    """Global memory and the settings under which kernels run.

    `schedule` is the order in which warps and copies take turns: `eager`, `late`, `random:SEED`, or
    `explore:N` for N of them. `checks` is `off`, `default` or `strict`, and `,-KIND` for each kind
    of report to leave out. With `keep_going` a kernel goes on after what it can go on after: the
    `Report` of the launch has the first report of each kind at each instruction. `names` says by
    kernel what reports call its shared memory, and `words` by the keys of `tile_emulator.advice`
    how they advise. A launch ends with
    an error after `max_steps` instructions of warps or `max_seconds` seconds. Raises `TypeError`
    and `ValueError` by the name of the argument.
    """

    def __init__(
        self,
        schedule: str = "eager",
        checks: str = "default",
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float = DEFAULT_MAX_SECONDS,
        keep_going: bool = False,
        names: Mapping[str, Sequence[SharedName]] | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.policies = policies(schedule)
        self.checks = parse_checks(checks)
        self.keep_going = keep_going
        self.names = dict(names or {})
        self.words = dict(words or {})
        self.max_steps = integer("max_steps", max_steps, 1)
        self.max_seconds = seconds("max_seconds", max_seconds)
        self.memory = GlobalMemory()
        self._launches = 0
        self._loaded: dict[int, tuple[Module, dict[str, int]]] = {}
        self._programs: dict[tuple[int, str, bool], Program] = {}

    # Memory

    def alloc(self, nbytes: int) -> int:
        """Return the address of `nbytes` zeroed bytes of global memory."""
        return self.memory.alloc(integer("nbytes", nbytes, 0))

    def free(self, address: int) -> None:
        """Release the `address` that `alloc` returned."""
        address = integer("address", address)
        if address and not self.memory.release(address):
            raise Error(f"free of 0x{address:x}, which is not allocated")

    def write(self, address: int, data: Any) -> None:
        """Copy `data`, anything with a buffer, into global memory from `address` on.

        What is strided goes there in row-major order, without the gaps.
        """
        try:
            is_array = isinstance(data, np.ndarray)  # of types that no buffer has, too
            content = data.tobytes() if is_array else memoryview(data).tobytes()
        except TypeError:
            raise TypeError(
                f"data must have a buffer, as bytes and arrays do, got {data!r}"
            ) from None
        self._bytes(address, len(content))[:] = np.frombuffer(content, dtype=np.uint8)

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of the `nbytes` bytes of global memory from `address` on."""
        return bytes(self._bytes(address, nbytes).tobytes())

    def memset(self, address: int, value: int, nbytes: int) -> None:
        """Set `nbytes` bytes of global memory from `address` on to the low byte of `value`."""
        self._bytes(address, nbytes)[:] = integer("value", value) & 0xFF

    def _bytes(self, address: int, nbytes: int) -> Any:
        address, nbytes = integer("address", address), integer("nbytes", nbytes, 0)
        if nbytes == 0:
            return np.zeros(0, dtype=np.uint8)
        try:
            return self.memory.bytes_at(address, nbytes)
        except Fault as fault:
            raise Error(fault.message) from None

    def map_host(self, address: int, nbytes: int) -> None:
        """Let kernels use `nbytes` of host memory at its `address`; the caller keeps it alive."""
        self.memory.map_host(integer("address", address, 1), integer("nbytes", nbytes, 0))

    def unmap_host(self, address: int) -> None:
        """End what `map_host` began at `address`."""
        if not self.memory.release(integer("address", address)):
            raise Error(f"unmap of 0x{address:x}, which is not mapped")

    # Launches

    def symbol(self, module: Module, name: str) -> int:
        """Return the address of the global or const variable `name` of `module` on this device."""
        addresses = self._load(module)
        if name not in addresses:
            raise Error(f"no global variable '{name}' in the module")
        return addresses[name]

    def _load(self, module: Module) -> dict[str, int]:
        """Return the addresses of the module's variables, allocated and filled at first.

        One that cannot be filled leaves nothing behind, so that each try fails.
        """
        known = self._loaded.get(id(module))
        if known is not None:
            return known[1]
        functions = module.functions.values()
        variables = {
            variable.name: variable
            for group in (module.variables, *(f.variables for f in functions))
            for variable in group.values()
            if variable.space in ("global", "const")
        }
        entries = function_addresses(module)
        for variable in variables.values():
            for _, target, _ in variable.pointers:
                if target not in variables and target not in entries:
                    raise LaunchError(
                        f"variable '{variable.name}' points to '{target}', which has no address"
                    )
        addresses: dict[str, int] = {}
        try:
            for name, variable in variables.items():
                addresses[name] = self.memory.alloc(variable.size, f"variable '{name}'")
        except (MemoryError, ValueError):
            for address in addresses.values():
                self.memory.release(address)
            raise LaunchError(
                f"there is no memory for variable '{name}' of {variable.size} bytes"
            ) from None
        for name, variable in variables.items():
            data = bytearray(variable.init)
            for at, target, offset in variable.pointers:
                address = addresses[target] if target in addresses else entries[target]
                data[at : at + 8] = (address + offset).to_bytes(8, "little")
            if data:
                self.write(addresses[name], bytes(data))
        self._loaded[id(module)] = (module, addresses)
        return addresses

    def _program(self, module: Module, kernel: str, fine: bool) -> Program:
        addresses = self._load(module)
        key = (id(module), kernel, fine)
        program = self._programs.get(key)
        if program is None:
            program = build_program(module, kernel, addresses, fine, self.checks.strict)
            self._programs[key] = program
        return program

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Any = (1, 1, 1),
        block: Any = (1, 1, 1),
        cluster: Any = None,
        smem: int = 0,
        args: Sequence[bytes] = (),
    ) -> Report:
        """Run the kernel of `module` named `kernel` to its end.

        `grid` is in CTAs, `block` in threads and `cluster` in CTAs, each a number or x, y and z;
        without `cluster` it is what the kernel requires. `smem` is dynamic shared memory in bytes,
        and `args` has the bytes of each parameter.

        Raises TypeError for what is no number or no module, LaunchError where the launch is wrong
        and EmulationError where the kernel is, unless it goes on (`keep_going`).
        Under `explore:N` the launch is repeated from the same memory; the first results stay.
        """
        check_module(module)
        report = Report(kernel)
        grid3, block3, smem = triple(grid, "grid"), triple(block, "block"), integer("smem", smem)
        # The module's variables stay between interleavings; what kernels allocate does not.
        self._load(module)
        copies = self.memory.snapshot() if len(self.policies) > 1 else None
        kept: dict[tuple[str, int | None], EmulationError] | None = {} if self.keep_going else None
        results = None
        self._launches += 1
        for number, policy in enumerate(self.policies):
            program = self._program(module, kernel, policy.name == "random")
            needs = program.kernel.reqnctapercluster
            cluster3 = triple(cluster, "cluster") if cluster is not None else needs or (1, 1, 1)
            check_launch(program, grid3, block3, cluster3)
            shared = shared_total(program, smem)
            if number and copies is not None:
                self.memory.restore(copies)
            launch = Launch(
                program,
                self.memory,
                grid3,
                block3,
                cluster3,
                cluster is not None or needs is not None,
                smem,
                shared,
                pack_params(program, args),
                policy,
                self.checks,
                kept,
                placed(program, self.names.get(kernel, ())),
                self.words,
                Budget(self.max_steps, self.max_seconds),
                self._launches,
            )
            try:
                launch.run(report if number == 0 else Report(kernel))
            except EmulationError as error:
                error.earlier = tuple((kept or {}).values())
                raise
            if number == 0 and copies is not None:
                results = self.memory.snapshot()
        if results is not None:
            self.memory.restore(results)
            report.interleavings = len(self.policies)
        report.reports = tuple((kept or {}).values())
        return report


def placed(program: Program, names: Sequence[SharedName]) -> list[tuple[int, SharedName]]:
    """Return the names with the shared offsets where they begin; some may be of other symbols."""
    known = program.shared_offsets
    return [(known[n.symbol] + n.offset, n) for n in names if n.symbol in known]


def check_module(module: object) -> None:
    """Raise TypeError for what is no parsed module."""
    if not isinstance(module, Module):
        raise TypeError(f"module must be what tile_emulator.parse returns, got {module!r}")


def shared_total(program: Program, dynamic_bytes: int) -> int:
    """Return the shared memory of a CTA in bytes; raises LaunchError above the limit."""
    if dynamic_bytes < 0:
        raise LaunchError(f"dynamic shared memory must not be negative, got {dynamic_bytes}")
    total = program.static_shared_bytes + dynamic_bytes
    if total > MAX_SHARED_BYTES:
        raise LaunchError(
            f"kernel '{program.kernel.name}' needs {total} bytes of shared memory, the limit is "
            f"{MAX_SHARED_BYTES}"
        )
    return total


def pack_params(program: Program, args: Sequence[bytes]) -> Any:
    """Place the parameters' bytes as the kernel expects them; raises LaunchError."""
    params = program.kernel.params
    if len(args) != len(params):
        raise LaunchError(
            f"kernel '{program.kernel.name}' takes {len(params)} parameters, got {len(args)}"
        )
    data = np.zeros(-(-program.param_bytes // 16) * 16 + 16, dtype=np.uint8)
    for number, (param, value) in enumerate(zip(params, args, strict=False)):
        raw = bytes(value)
        if len(raw) != param.size:
            raise LaunchError(
                f"parameter {number} ('{param.name}') of kernel '{program.kernel.name}' has "
                f"{param.size} bytes, got {len(raw)}"
            )
        start = program.param_offsets[param.name]
        data[start : start + len(raw)] = np.frombuffer(raw, dtype=np.uint8)
    return data
