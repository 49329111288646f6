# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device that a host call runs on, and the GPUs to choose from."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

from mlir_tile.errors import CUDA_ERROR_NO_DEVICE, DeviceUnavailable
from mlir_tile.runtime.library import (
    OLDEST_COMPUTE_CAPABILITY,
    DeviceFacts,
    cuda_driver,
    describe,
    library,
)

__all__ = ["Device", "DeviceInfo", "device_info", "resolve_device"]

CURRENT = -1


@dataclass(frozen=True)
class Device:
    """GPU number `ordinal` as the driver describes it.

    `name` is its product name, `compute_capability` major and minor, and `multiprocessors` how many
    it has. `shared_bytes_per_block` is the limit after opting in, `memory_bytes` all of its memory.
    """

    ordinal: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    shared_bytes_per_block: int
    memory_bytes: int

    @property
    def is_usable(self) -> bool:
        """Whether the device has clusters: compute capability 9.0 or newer."""
        return self.compute_capability >= divmod(OLDEST_COMPUTE_CAPABILITY, 10)

    def __str__(self) -> str:
        major, minor = self.compute_capability
        return f"GPU {self.ordinal} ({self.name}, sm_{major}{minor})"


@dataclass(frozen=True)
class DeviceInfo:
    """The GPUs: `driver_version` is the CUDA version of the driver, and `devices` are all GPUs.

    `reason` says why none is usable, or is empty.
    """

    driver_version: str
    devices: tuple[Device, ...]
    reason: str

    @property
    def usable(self) -> tuple[Device, ...]:
        """The GPUs that this package can use."""
        return tuple(device for device in self.devices if device.is_usable)


def device_info() -> DeviceInfo:
    """Return the driver's CUDA version and the GPUs; does not raise without a GPU."""
    try:
        driver = cuda_driver()
    except DeviceUnavailable as error:
        return DeviceInfo("", (), str(error))
    if driver not in _known:
        info = _ask(driver)
        if not info.devices:
            return info
        _known[driver] = info
    return _known[driver]


_known: dict[int, DeviceInfo] = {}


def _ask(driver: int) -> DeviceInfo:
    version = ctypes.c_int()
    count = library().tile_runtime_device_count(driver, ctypes.byref(version))
    major, minor = divmod(version.value, 1000)
    driver_version = f"{major}.{minor // 10}" if version.value else ""
    if count <= 0:
        code = -count or CUDA_ERROR_NO_DEVICE
        missing = "no GPU" if code == CUDA_ERROR_NO_DEVICE else "the CUDA driver does not start"
        return DeviceInfo(driver_version, (), f"{missing}: {describe(driver, code)}")
    devices = tuple(_device(driver, ordinal) for ordinal in range(count))
    reason = ""
    if not any(device.is_usable for device in devices):
        reason = "no GPU of sm_90 or newer: " + ", ".join(map(str, devices))
    return DeviceInfo(driver_version, devices, reason)


def _device(driver: int, ordinal: int) -> Device:
    facts = DeviceFacts()
    code = library().tile_runtime_device_facts(driver, ordinal, ctypes.byref(facts))
    if code:
        raise DeviceUnavailable(f"GPU {ordinal} does not answer: {describe(driver, code)}")
    return Device(
        ordinal,
        facts.name.decode(errors="replace"),
        (facts.compute_capability // 10, facts.compute_capability % 10),
        facts.multiprocessors,
        facts.shared_bytes_per_block,
        facts.memory_bytes,
    )


def resolve_device(device: str) -> int | None:
    """Return the CUDA ordinal for a device name, `CURRENT` for "cuda", None for the emulator.

    Raises `ValueError` for another name, `DeviceUnavailable` for a GPU that is not there or is too
    old; "auto" never fails.
    """
    if device == "emulator":
        return None
    if device == "auto":
        info = device_info()
        if not info.usable:
            return None
        # The caller's current context counts, unless its device may be one that is too old.
        return CURRENT if info.usable == info.devices else info.usable[0].ordinal
    match = re.fullmatch(r"cuda(?::(\d+))?", device) if isinstance(device, str) else None
    if match is None:
        raise ValueError(f'device must be "auto", "cuda", "cuda:N" or "emulator", got {device!r}')
    info = device_info()
    if info.reason:
        raise DeviceUnavailable(info.reason)
    if match[1] is None:
        return CURRENT
    ordinal = int(match[1])
    if ordinal >= len(info.devices):
        raise DeviceUnavailable(f"no GPU {ordinal}: there are {len(info.devices)}")
    if not info.devices[ordinal].is_usable:
        raise DeviceUnavailable(f"{info.devices[ordinal]} is older than sm_90")
    return ordinal
