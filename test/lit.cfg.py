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


def wheel(package: str) -> Path:
    """Return the folder of a package: LLVM's and MLIR's wheels bring their tools in `bin`."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        lit_config.fatal(f"no package '{package}' beside lit: run the project's own lit")
    return Path(next(iter(spec.submodule_search_locations)))


def plugin_path() -> Path:
    """Return the plugin for mlir-opt, without importing what it stands in."""
    spec = importlib.util.find_spec("mlir_tile")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for place in places if (path := Path(place) / "_libs/tile_plugin.so").exists()]
    return found[0] if found else Path("tile_plugin.so")


config.name = "mlir-tile"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
# Folders of pytest, whose .mlir files are inputs.
config.excludes = ["Inputs", "docs", "emulator", "python", "run", "suite"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parents[1] / "build" / "lit")
config.pipefail = True

scripts = Path(sysconfig.get_path("scripts"))
for tool in (scripts / "tile-opt", wheel("llvm") / "bin" / "FileCheck"):
    if not tool.exists():
        lit_config.fatal(f"{tool} is missing: install the project with its test dependencies")
config.environment["PATH"] = os.pathsep.join(
    [str(scripts), str(wheel("llvm") / "bin"), config.environment["PATH"]]
)

# Needed to build, but not to run: a machine that only runs may be without.
mlir_opt = wheel("mlir") / "bin" / "mlir-opt"
if mlir_opt.exists():
    config.available_features.add("mlir-opt")
    config.environment["PATH"] += os.pathsep + str(mlir_opt.parent)
config.substitutions.append(("%{tile_plugin}", f'"{plugin_path()}"'))
# What was compiled by an earlier run says nothing about the compiler.
config.environment["TILE_CACHE"] = "0"

# A path may hold spaces. Each of these becomes its own quoted self, and then lit puts the path in.
for name in ("%s", "%S", "%t", "%T"):
    config.substitutions.append((rf'(?<!["%]){name}\b', f'"{name}"'))
