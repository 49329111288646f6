# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is imported before it is needed: nothing that takes long."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys

import pytest

from mlir_tile.compiler.target import DEFAULT_CHIP, DEFAULT_FEATURES
from tile_tools.usage import add_target_options

TOOL = "import sys; sys.argv = ['tool', *{arguments}]; from tile_tools.{tool} import main"
RUN = f"{TOOL}\ntry: main()\nexcept SystemExit: pass\n"


def imported(code: str) -> set[str]:
    """Run `code` in a new process; return the modules that it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('modules', *sys.modules)"],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    return set(done.stdout.rpartition("modules ")[2].split())


def test_importing_the_package_imports_neither_patterns_nor_what_runs_kernels() -> None:
    modules = imported("import mlir_tile")
    assert "mlir_tile.compiler" in modules
    slow = {"mlir.dialects.nvvm", "mlir.dialects.llvm", "mlir.dialects.gpu", "ml_dtypes"}
    slow |= {"mlir_tile.legalize", "mlir_tile.runtime.executable", "mlir_tile.viewer.model"}
    assert not modules & slow


def test_what_is_imported_late_is_there_when_asked_for() -> None:
    modules = imported("from mlir_tile import load, register_variant")
    assert {"mlir_tile.runtime.saved", "mlir_tile.variants"} <= modules
    import mlir_tile

    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = mlir_tile.lode


@pytest.mark.parametrize("package", ["mlir_tile", "tile_emulator"])
def test_what_is_imported_late_is_listed(package: str) -> None:
    listed = imported(f"import {package}; print('modules', *dir({package})); raise SystemExit")
    module = importlib.import_module(package)
    assert {*module.__all__} <= listed
    assert all(hasattr(module, name) for name in dir(module))


@pytest.mark.parametrize("tool", ["run", "layout"])
def test_help_is_printed_without_the_compiler(tool: str) -> None:
    assert "mlir" not in imported(RUN.format(tool=tool, arguments=["--help"]))


def test_help_names_the_default_target_without_importing_it() -> None:
    parser = argparse.ArgumentParser()
    add_target_options(parser)
    shown = parser.format_help()
    assert f"(default {DEFAULT_CHIP})" in shown and f"(default {DEFAULT_FEATURES})" in shown


def test_help_is_printed_without_the_emulator() -> None:
    modules = imported(RUN.format(tool="emulate", arguments=["--help"]))
    assert "tile_emulator.cli" in modules
    assert not modules & {"numpy", "mlir", "tile_emulator.device"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("opt", ["/dev/null"]), ("compile", ["--help"]), ("layout", ["(8):(1)", "(8):(1)"])],
)
def test_tools_that_only_compile_do_without_numpy(tool: str, arguments: list[str]) -> None:
    modules = imported(RUN.format(tool=tool, arguments=arguments))
    assert "mlir.ir" in modules
    assert "numpy" not in modules


def test_numpy_can_be_imported_afterwards() -> None:
    modules = imported(
        "from tile_tools.startup import import_mlir_without_numpy as first; first()\n"
        "import sys; assert 'mlir.ir' in sys.modules and 'numpy' not in sys.modules\n"
        "import numpy; numpy.zeros(1); import mlir_tile.runtime.executable"
    )
    assert "numpy" in modules
