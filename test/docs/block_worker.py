# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process in which the Python and MLIR blocks of one page run: `block_worker.py`.

Reads one request as JSON a line, `{"language", "text", "name"}`, and answers each with `{"output",
"error"}`. A page has a process of its own because it may register passes, or end the process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10: pip carries the same parser
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

PARSERS = {"json": json.loads, "toml": tomllib.loads}


def run_python(text: str, name: str, namespace: dict[str, Any]) -> None:
    exec(compile(text, name, "exec"), namespace)


def check_mlir(text: str) -> None:
    from mlir import ir

    import mlir_tile as mt

    with mt.context():
        if text.lstrip().startswith("#tile.") and "\n!" not in text:
            ir.Attribute.parse(text.strip())
        else:
            mt.parse(text)


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    sys.path.insert(0, os.getcwd())
    with tempfile.TemporaryFile("w+") as output:
        os.dup2(output.fileno(), 1)  # what libraries print counts as well
        for line in sys.stdin:
            request = json.loads(line)
            start = os.lseek(1, 0, os.SEEK_END)
            error = ""
            try:
                if request["language"] == "python":
                    # Tracebacks quote the lines of the block.
                    import linecache

                    lines = request["text"].splitlines(keepends=True)
                    linecache.cache[request["name"]] = (0, None, lines, request["name"])
                    run_python(request["text"], request["name"], namespace)
                elif request["language"] == "mlir":
                    check_mlir(request["text"])
                else:
                    PARSERS[request["language"]](request["text"])
            except BaseException:
                error = traceback.format_exc()
            sys.stdout.flush()
            printed = os.pread(1, os.lseek(1, 0, os.SEEK_END) - start, start).decode()
            print(json.dumps({"output": printed, "error": error}), file=answers, flush=True)


if __name__ == "__main__":
    main()
