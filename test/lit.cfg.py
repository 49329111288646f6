# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests of IR text: `lit test`, with the lit of the project's environment.

The tools are those of that environment, so the suite tests an installed wheel as it does an
editable install.
"""

# ruff: noqa: F821  (lit defines `config` and `lit_config`)

import importlib.util
import os
import sysconfig
from pathlib import Path

import lit.formats


def llvm_tools() -> Path:
    """Return the folder of FileCheck, not and count, which the LLVM wheel brings."""
    spec = importlib.util.find_spec("llvm")
    if spec is None or not spec.submodule_search_locations:
        lit_config.fatal("no package 'llvm' beside lit: run the lit of the project's environment")
    return Path(next(iter(spec.submodule_search_locations))) / "bin"


config.name = "mlir-tile"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
# Folders of pytest, whose .mlir files are inputs.
config.excludes = ["Inputs", "docs", "emulator", "python", "run", "suite"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parents[1] / "build" / "lit")
config.pipefail = True

scripts = Path(sysconfig.get_path("scripts"))
for tool in (scripts / "tile-opt", llvm_tools() / "FileCheck"):
    if not tool.exists():
        lit_config.fatal(f"{tool} is missing: install the project with its test dependencies")
config.environment["PATH"] = os.pathsep.join(
    [str(scripts), str(llvm_tools()), config.environment["PATH"]]
)

# A path may hold spaces. Each of these becomes its own quoted self, and then lit puts the path in.
for name in ("%s", "%S", "%t", "%T"):
    config.substitutions.append((rf'(?<!["%]){name}\b', f'"{name}"'))
