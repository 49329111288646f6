# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The description of an op in an editor: the docstring of its class, which comes from ODS."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import re

# The server shows text alone: what it has of the op is how it prints.
SHOWN_OP = re.compile(r'"(\w+)\.([\w.]+)"')


def with_description(message: bytes) -> bytes:
    """Return a message of MLIR's language server, with its op described if it shows one."""
    if b"Generic Form" not in message:
        return message
    answer = json.loads(message)
    shown = (answer.get("result") or {}).get("contents") or {}
    op = SHOWN_OP.match(shown.get("value", ""))
    text = description(op[1], op[2]) if op else ""
    if not text:
        return message
    shown["value"] += f"\n---\n\n{text}\n"
    return json.dumps(answer).encode()


@functools.cache
def description(dialect: str, mnemonic: str) -> str:
    """Return the description of an op; empty where Python has no class for it."""
    import mlir_tile.registration  # noqa: F401  (its dialects search path)

    for package in ("mlir_tile.dialects", "mlir.dialects"):
        try:
            module = importlib.import_module(f"{package}.{dialect}")
        except ImportError:
            continue
        for value in vars(module).values():
            if getattr(value, "OPERATION_NAME", None) == f"{dialect}.{mnemonic}":
                return inspect.getdoc(value) or ""
    return ""
