# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every tool tells the version, which stands in one place."""

import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

import mlir_tile as mt

VERSION = metadata.version("mlir-tile")
TOOLS = [entry.name for entry in metadata.distribution("mlir-tile").entry_points]


def test_the_package_has_the_version_of_what_is_installed() -> None:
    assert mt.__version__ == VERSION


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_tells_it(tool: str) -> None:
    command = [Path(sysconfig.get_path("scripts")) / tool, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{tool} {VERSION}")


def test_it_is_told_without_the_wheels_metadata() -> None:
    code = (
        "from importlib import metadata\n"
        "known = metadata.version\n"
        "def version(name):\n"
        "    if name.startswith('xtc'): raise metadata.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "metadata.version = version\n"
        "from tile_tools.version import version_line\n"
        "print(version_line('tile-opt'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout == f"tile-opt {VERSION} (MLIR of unknown version)\n"
