# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests of IR text: `lit test`, with the lit of the project's environment.

The tools are those of that environment, so the suite tests an installed wheel as it does an
editable install; for a lit from elsewhere they are those on PATH. `--param exec_root=FOLDER` says
where the tests write.
"""

# ruff: noqa: F821  (lit defines `config` and `lit_config`)

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

import lit.formats


def folder_of(tool: str, usual: Path | None) -> str:
    """Return the folder of a tool: the usual one, else where PATH finds it."""
    if usual and (usual / tool).exists():
        return str(usual)
    found = shutil.which(tool)
    if found is None:
        lit_config.fatal(f"{tool} is missing: install the project with its test dependencies")
    return str(Path(found).parent)


def llvm_tools() -> Path | None:
    """Return the folder of FileCheck, not and count, which the LLVM wheel brings."""
    spec = importlib.util.find_spec("llvm")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "bin"


config.name = "mlir-tile"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
# Folders of pytest, whose .mlir files are inputs.
config.excludes = ["Inputs", "emulator", "fuzz", "python", "run", "suite", "wheel"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = lit_config.params.get(
    "exec_root", str(Path(__file__).parents[1] / "build" / "lit")
)
config.pipefail = True

config.environment["PATH"] = os.pathsep.join(
    [
        folder_of("tile-opt", Path(sysconfig.get_path("scripts"))),
        folder_of("FileCheck", llvm_tools()),
        config.environment["PATH"],
    ]
)

# A path may hold spaces. Each of these becomes its own quoted self, and then lit puts the path in.
for name in ("%s", "%S", "%t", "%T"):
    config.substitutions.append((rf'(?<!["%]){name}\b', f'"{name}"'))
