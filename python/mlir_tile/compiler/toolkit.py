# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage ptx: find the tools of the CUDA toolkit, and the newest PTX that they take.

PTX needs none of them; cubins need `ptxas`, and fat binaries `fatbinary` too.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError
from ..ptx_versions import dotted, newest_ptx

VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
USUAL_PLACE = Path("/usr/local/cuda")
WHEELS = "nvidia-cuda-nvcc or nvidia-cuda-nvcc-cu12"


@dataclass(frozen=True)
class Toolkit:
    """A folder with `bin/ptxas`, and the CUDA release of that, such as (13, 0)."""

    folder: Path
    release: tuple[int, int]

    @property
    def ptxas(self) -> Path:
        """The PTX assembler."""
        return self.folder / "bin" / "ptxas"

    def check_ptx(self, version: int) -> None:
        """Raise `CompileError` where `ptxas` is older than PTX `version`, such as 81 for 8.1."""
        newest = newest_ptx(self.release)
        if newest is None or version <= newest:
            return
        release = ".".join(map(str, self.release))
        raise CompileError(
            f"PTX {dotted(version)} is newer than {self.ptxas} takes: it is of CUDA {release} and "
            f"takes PTX {dotted(newest)} at most; set features to +ptx{newest}, or install a newer "
            "toolkit"
        )


def find_toolkit(tools: Sequence[str] = ("ptxas",)) -> Toolkit:
    """Return the first toolkit with all of `tools`.

    Searches the folders in CUDA_HOME, CUDA_PATH and CUDA_ROOT, those of PATH, the wheels of this
    environment, and /usr/local/cuda. Raises a `CompileError` that names all of them.
    """
    looked = []
    for place, folder in _places():
        if folder is not None and all(_is_program(folder / "bin" / tool) for tool in tools):
            return Toolkit(folder, _release(folder / "bin" / "ptxas"))
        looked.append(place)
    raise CompileError(
        f"no {' and '.join(tools)} found: looked in {', '.join(looked)}; install the CUDA toolkit "
        f"or the wheel {WHEELS}, or compile to ptx, which needs none"
    )


def _places() -> Iterator[tuple[str, Path | None]]:
    """Yield each place that is searched: its description, and its folder if there is one."""
    for variable in VARIABLES:
        value = os.environ.get(variable)
        yield f"{variable} ({value or 'not set'})", Path(value) if value else None
    on_path = shutil.which("ptxas")
    # Upstream looks in `bin` of a folder.
    is_usual = on_path is not None and Path(on_path).parent.name == "bin"
    yield "PATH", Path(str(on_path)).absolute().parents[1] if is_usual else None
    wheels = _wheels()
    for folder in wheels:
        yield f"the wheel in {folder}", folder
    if not wheels:
        yield "the wheels of this environment", None
    yield str(USUAL_PLACE), USUAL_PLACE


def _wheels() -> list[Path]:
    """Return the folders of NVIDIA's wheels: `nvidia/cu13` and later, or `nvidia/cuda_nvcc`."""
    spec = importlib.util.find_spec("nvidia")
    found: list[Path] = []
    for site in (spec.submodule_search_locations or []) if spec else []:
        found += sorted(Path(site).glob("cu[0-9][0-9]"), reverse=True)
        found += Path(site).glob("cuda_nvcc")
    return found


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _release(ptxas: Path) -> tuple[int, int]:
    """Return the CUDA release of `ptxas`; raise `CompileError` if it does not print one."""
    try:
        done = subprocess.run(
            [ptxas, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"{ptxas} does not run: {error}") from None
    # A toolkit tells its release in no other way.
    match = re.search(r"\brelease (\d+)\.(\d+)\b", done.stdout)
    if done.returncode or not match:
        said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise CompileError(f"{ptxas} does not say its release: {said}")
    return int(match[1]), int(match[2])
