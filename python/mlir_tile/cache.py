# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs on disk, so that the next process need not compile them.

An entry is a saved program whose name is a digest of all that went into it: the module's bytes, the
options, the versions, and the sources of this package. Files are replaced as a whole and never
changed, so that processes need no lock; what is damaged, or not what its name says, is compiled
anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import platform
import stat
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlir import ir

from mlir_tile import variants
from mlir_tile.files import TEMPORARY_PREFIX, replace_file
from mlir_tile.runtime.errors import LoadError

if TYPE_CHECKING:
    from mlir_tile.runtime.executable import Executable

SUFFIX = ".tile"
DEFAULT_LIMIT_MIB = 256
_ABANDONED_AFTER_SECONDS = 3600
_OFF = ("0", "off", "false", "no")


@dataclass(frozen=True)
class Cache:
    """A folder of saved programs of at most `limit_bytes`; the longest unused go first."""

    folder: Path
    limit_bytes: int

    def load(self, key: str, context: ir.Context) -> tuple[Executable, bool] | None:
        """Return the program of that key, in `context`, and whether its analysis warned.

        None if there is none that is whole.
        """
        from mlir_tile import saved

        path = self._path(key)
        try:
            with path.open("rb") as file:
                # What another user wrote would run as this one.
                if os.fstat(file.fileno()).st_uid not in (os.getuid(), 0):
                    return None
                content = file.read()
            found = saved.from_bytes(content, context=context, expected={"key": key})
            warned = bool(saved.header_of(content)["warned"])
        except (OSError, LoadError, KeyError):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of the last use, by which entries are dropped
        return found, warned

    def store(self, key: str, executable: Executable, *, warned: bool) -> None:
        """Keep a program; where that cannot be, say so once in a process."""
        from mlir_tile import saved

        content = saved.to_bytes(executable, key=key, warned=warned)
        if len(content) > self.limit_bytes:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path(key), content)
            self._shrink()
        except OSError as error:
            _warn_once(
                f"compiled programs cannot be kept in {self.folder}: {error.strerror or error};"
                " set TILE_CACHE_DIR to a folder that can be written, or TILE_CACHE=0"
            )

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _shrink(self) -> None:
        """Drop the longest unused entries beyond the limit, and what dead processes left."""
        entries = []
        for path, status in self._files():
            if path.name.startswith(TEMPORARY_PREFIX):
                if time.time() - status.st_mtime > _ABANDONED_AFTER_SECONDS:
                    path.unlink(missing_ok=True)
            elif path.suffix == SUFFIX:
                entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.limit_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield the regular files there; others may remove them meanwhile."""
        for entry in os.scandir(self.folder):
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield Path(entry.path), status


def chosen(use: bool | None) -> Cache | None:
    """Return the cache that `use` and the environment ask for, None for none.

    `TILE_CACHE=0` turns it off where `use` is None; `TILE_CACHE_DIR` is the folder, else one in the
    user's cache directory; `TILE_CACHE_MIB` is its limit. Raises `ValueError` for a wrong limit.
    """
    if use is None:
        use = os.environ.get("TILE_CACHE", "").lower() not in _OFF
    if not use or not is_known_program():
        return None
    given = os.environ.get("TILE_CACHE_DIR")
    folder = Path(given) if given else _users_folder()
    if not given and not folder.is_absolute():
        return None  # a user without a home
    text = os.environ.get("TILE_CACHE_MIB", str(DEFAULT_LIMIT_MIB))
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise ValueError(f"TILE_CACHE_MIB must be a number of MiB, got '{text}'")
    return Cache(folder.absolute(), int(limit * 2**20))


def _users_folder() -> Path:
    import platformdirs  # costs time, and is not needed with a folder of one's own

    return platformdirs.user_cache_path("mlir-tile")


def key_of(module: ir.Module, options: Any) -> str:
    """Return the name of what `module` compiles to under `options`, in hexadecimal digits.

    Source places belong to it: line information and the texts of assertions hold them.
    """
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    digest = hashlib.sha256()
    outside = variants.identity().encode()
    for part in (_compiler_digest(), outside, repr(options).encode(), bytecode.getvalue()):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def is_known_program() -> bool:
    """Whether `key_of` knows all that legalizes tile ops: this package, and registered variants.

    What a script, a notebook or somebody's own hand put into the tables has no digest.
    """
    from mlir_tile.legalize import PATTERNS
    from mlir_tile.legalize.copy_async import VARIANTS

    package = __name__.rpartition(".")[0] + "."
    outside = [
        function
        for function in (*PATTERNS.values(), *VARIANTS.values())
        if not getattr(function, "__module__", "").startswith(package)
    ]
    return all(variants.is_identified(function) for function in outside)


@functools.cache
def _compiler_digest() -> bytes:
    """Return the digest of all that compiles: this package's files, and the versions below it."""
    import mlir_tile
    from mlir_tile import saved

    digest = hashlib.sha256(repr((saved.FORMAT, saved.versions(), platform.machine())).encode())
    for folder in map(Path, mlir_tile.__path__):
        for path in sorted((*folder.rglob("*.py"), *folder.glob("_tile*.so"))):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


@functools.cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)
