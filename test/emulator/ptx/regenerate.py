# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile the kernels of this folder with nvcc, and keep the PTX beside them without comments."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
SPDX = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
COMMAND = ("nvcc", "-ptx", "-std=c++17", "-O3", "-arch=sm_90a")


def without_comments(ptx: str) -> str:
    """Drop comments, blank lines and the indentation of what nvcc prints."""
    lines = (re.sub(r"//.*", "", line).strip() for line in ptx.splitlines())
    return "\n".join([SPDX, *(line for line in lines if line), ""])


def main() -> None:
    """Write one `.ptx` for each `.cu`."""
    for source in sorted(FOLDER.glob("*.cu")):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "kernels.ptx"
            subprocess.run([*COMMAND, str(source), "-o", str(output)], check=True)
            text = without_comments(output.read_text(encoding="utf-8"))
        source.with_suffix(".ptx").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
