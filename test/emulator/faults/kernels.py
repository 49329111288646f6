# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correct kernels: how each is launched, and the bytes that it must write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tile_emulator as te

FOLDER = Path(__file__).parent
SCHEDULES = ("eager", "late", "random:1", "random:2", "random:3", "explore:8")


def same(data: bytes) -> bytes:
    """Expect the input itself."""
    return data


def words_plus_one(data: bytes) -> bytes:
    """Expect each 32-bit word plus 1."""
    return (np.frombuffer(data, np.uint32) + np.uint32(1)).tobytes()


def words_reversed(data: bytes) -> bytes:
    """Expect the 32-bit words in reverse order."""
    return np.frombuffer(data, np.uint32)[::-1].tobytes()


def quarters_rotated(data: bytes) -> bytes:
    """Expect the part of each CTA at its successor's place."""
    quarter = len(data) // 4
    return data[-quarter:] + data[:-quarter]


@dataclass(frozen=True)
class Kernel:
    """A kernel with the parameters `in` and `out`, `nbytes` bytes each."""

    name: str
    cluster: int
    threads: int
    nbytes: int
    expected: Callable[[bytes], bytes] = same

    @property
    def path(self) -> Path:
        """The file with the PTX text."""
        return FOLDER / f"{self.name}.ptx"

    @property
    def text(self) -> str:
        """The PTX text."""
        return self.path.read_text(encoding="utf-8")

    @property
    def data(self) -> bytes:
        """What the kernel reads."""
        return np.random.default_rng(7).bytes(self.nbytes)


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("one_shot", cluster=2, threads=64, nbytes=1024),
        Kernel("ring", cluster=4, threads=64, nbytes=4 * 6 * 512, expected=quarters_rotated),
        Kernel("four_barriers", cluster=2, threads=32, nbytes=1024),
        Kernel("fan_in", cluster=4, threads=32, nbytes=3 * 512),
        Kernel("chunks", cluster=2, threads=64, nbytes=512),
        Kernel("st_async", cluster=2, threads=64, nbytes=1024),
        Kernel("relay", cluster=3, threads=32, nbytes=512),
        Kernel("hand_over", cluster=2, threads=64, nbytes=1024, expected=words_plus_one),
        Kernel("reinit", cluster=2, threads=32, nbytes=1024),
        Kernel("acknowledged_exit", cluster=2, threads=32, nbytes=1024),
        Kernel("named_barriers", cluster=1, threads=64, nbytes=1024),
        Kernel("global_bulk", cluster=1, threads=64, nbytes=1024, expected=words_plus_one),
        Kernel("cta_mbarrier", cluster=1, threads=64, nbytes=256, expected=words_reversed),
    )
}


@cache
def parsed(text: str) -> te.Module:
    """Parse each text once."""
    return te.parse(text)


def run(kernel: Kernel, text: str, schedule: str, checks: str = "default") -> bytes:
    """Run `text` as `kernel` is launched; returns the bytes that it wrote.

    Raises `te.EmulationError` where the emulator reports a fault.
    """
    device = te.Device(schedule=schedule, checks=checks, max_steps=20_000, max_seconds=600)
    return launch(kernel, device, parsed(text))


def launch(kernel: Kernel, device: Any, program: Any) -> bytes:
    """Launch `program` on a device as `kernel` is; returns the bytes that it wrote."""
    source, target = device.alloc(kernel.nbytes), device.alloc(kernel.nbytes)
    device.write(source, kernel.data)
    device.launch(
        program,
        "kernel",
        grid=kernel.cluster,
        block=kernel.threads,
        cluster=kernel.cluster if kernel.cluster > 1 else None,
        args=[source.to_bytes(8, "little"), target.to_bytes(8, "little")],
    )
    return bytes(device.read(target, kernel.nbytes))
