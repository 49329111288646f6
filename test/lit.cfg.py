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


def package_folder(package: str) -> Path | None:
    """Return the folder of a package, without importing it, None where it is not installed."""
    spec = importlib.util.find_spec(package)
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    return Path(places[0]) if places else None


def folder_of(tool: str, usual: Path | None) -> str:
    """Return the folder of a tool: the usual one, else where PATH finds it."""
    if usual and (usual / tool).exists():
        return str(usual)
    found = shutil.which(tool)
    if found is None:
        lit_config.fatal(f"{tool} is missing: install the project with its test dependencies")
    return str(Path(found).parent)


def tools_of(package: str) -> Path | None:
    """Return the folder of the tools that LLVM's or MLIR's wheel brings."""
    folder = package_folder(package)
    return folder / "bin" if folder else None


def plugin_path() -> Path:
    """Return the plugin for mlir-opt."""
    spec = importlib.util.find_spec("mlir_tile")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for place in places if (path := Path(place) / "_libs/tile_plugin.so").exists()]
    return found[0] if found else Path("tile_plugin.so")


config.name = "mlir-tile"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
# Folders of pytest, whose .mlir files are inputs.
config.excludes = ["Inputs", "docs", "emulator", "fuzz", "python", "run", "suite", "wheel"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = lit_config.params.get(
    "exec_root", str(Path(__file__).parents[1] / "build" / "lit")
)
config.pipefail = True

config.environment["PATH"] = os.pathsep.join(
    [
        folder_of("tile-opt", Path(sysconfig.get_path("scripts"))),
        folder_of("FileCheck", tools_of("llvm")),
        config.environment["PATH"],
    ]
)

# Needed to build, but not to run: a machine that only runs may be without.
mlir_tools = tools_of("mlir")
if mlir_tools and (mlir_tools / "mlir-opt").exists():
    config.available_features.add("mlir-opt")
    config.environment["PATH"] += os.pathsep + str(mlir_tools)
config.substitutions.append(("%{tile_plugin}", f'"{plugin_path()}"'))

# A path may hold spaces. Each of these becomes its own quoted self, and then lit puts the path in.
for name in ("%s", "%S", "%t", "%T"):
    config.substitutions.append((rf'(?<!["%]){name}\b', f'"{name}"'))
