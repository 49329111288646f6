# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the fake driver once and gives tests its switches and counters."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "fake_driver" / "fake_driver.cpp"
KINDS = ("streams", "events", "memory", "registered")

OUT_OF_MEMORY = 2
ILLEGAL_ADDRESS = 700
UNKNOWN = 999


def compiler() -> str | None:
    """Return a C++ compiler, or None."""
    return next(
        filter(None, map(shutil.which, (os.environ.get("CXX", "c++"), "g++", "clang++"))), None
    )


def build(folder: Path) -> Path:
    """Compile the fake driver into `folder`."""
    library = folder / "libfake_driver.so"
    command = [str(compiler()), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", str(library), str(SOURCE)], check=True)
    return library


class FakeDriver:
    """The switches and counters of a loaded fake driver."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = ctypes.CDLL(str(path))
        self.reset()

    def reset(self) -> None:
        self._library.fake_reset()

    def fail(
        self, name: str = "", nth: int = 1, code: int = OUT_OF_MEMORY, always: bool = False
    ) -> None:
        """Make the `nth` call of `name` (or of anything) fail, or all from it on."""
        self._library.fake_fail(name.encode(), nth, code, int(always))

    def hang(self, now: bool = False) -> None:
        """Make the next kernel never end, or what is on the device already."""
        self._library.fake_hang(int(now))

    def hang_at_exit(self) -> None:
        """Make the driver's own clean-up at process exit never return."""
        self._library.fake_hang_at_exit()

    def set_device_attribute(self, attribute: int, value: int) -> None:
        self._library.fake_set_device_attribute(attribute, value)

    def set_function_attribute(self, attribute: int, value: int) -> None:
        self._library.fake_set_function_attribute(attribute, value)

    def function_setting(self, attribute: int) -> int:
        return int(self._library.fake_function_setting(attribute))

    def set_largest_cluster(self, ctas: int) -> None:
        self._library.fake_set_largest_cluster(ctas)

    def live(self, kind: str) -> int:
        return int(self._library.fake_live(kind.encode()))

    def leaks(self) -> dict[str, int]:
        """Return what is alive and should not be after a host call."""
        return {kind: self.live(kind) for kind in KINDS if self.live(kind)}

    def also_fail_stream_synchronize(self, code: int) -> None:
        """Make waits for streams fail besides what `fail` says; 0 ends that."""
        self._library.fake_fail_stream_synchronize(code)

    def forget(self) -> None:
        """Count what is alive no longer: what a kernel that never ends holds is not leaked."""
        self._library.fake_forget()

    def log(self) -> list[str]:
        buffer = ctypes.create_string_buffer(1 << 20)
        self._library.fake_log(buffer, len(buffer))
        return buffer.value.decode().split()

    def clear_log(self) -> None:
        self._library.fake_clear_log()

    def expect_arguments(self, count: int) -> None:
        """Keep so many parameters of each launch."""
        self._library.fake_expect_arguments(count)

    def arguments(self, count: int) -> list[int]:
        """Return the parameters of the last launch, as words of 8 bytes."""
        argument = self._library.fake_argument
        argument.restype = ctypes.c_uint64
        return [int(argument(number)) for number in range(count)]

    def last_device(self) -> int:
        return int(self._library.fake_last_device())

    def last_stream(self) -> int:
        stream = self._library.fake_last_stream
        stream.restype = ctypes.c_uint64
        return int(stream())

    def add_device_memory(self, address: int, size_bytes: int, device: int = 0) -> None:
        """Let the driver know these addresses as memory of a device."""
        self._library.fake_add_device_memory(
            ctypes.c_uint64(address), ctypes.c_uint64(size_bytes), device
        )

    def capture_modes(self) -> tuple[int, int]:
        """Return the thread's stream capture mode, now and when a module was last loaded."""
        modes = self._library.fake_capture_mode(), self._library.fake_capture_mode_of_load()
        return int(modes[0]), int(modes[1])

    def jit_level(self) -> int:
        return int(self._library.fake_jit_level())

    def push_context(self, device: int) -> None:
        self._library.fake_push_context(device)

    def pop_context(self) -> None:
        self._library.fake_pop_context()

    def current_device(self) -> int:
        return int(self._library.fake_current_device())

    def last_launch(self) -> dict[str, object]:
        values = (ctypes.c_uint * 7)()
        self._library.fake_last_launch(values)
        return {
            "grid": tuple(values[:3]),
            "block_x": values[3],
            "shared_bytes": values[4],
            "cluster_x": values[6] if values[5] else None,
        }
