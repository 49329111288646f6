# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dependencies point one way: tools -> python -> lib -> dialect -> lib/Layout."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest
from source_tree import PROJECT, source_files

MAY_INCLUDE = {
    "lib/Layout": {"llvm", "lib/Layout"},
    "dialect": {"llvm", "mlir", "lib/Layout", "dialect"},
    "lib/Facts": {"llvm", "mlir", "lib/Layout", "dialect", "lib/Facts"},
    "lib/Plan": {"llvm", "mlir", "lib/Layout", "dialect", "lib/Facts", "lib/Plan"},
    "lib/Sync": {"llvm", "mlir", "lib/Layout", "dialect", "lib/Facts", "lib/Sync"},
    "lib/Transforms": {
        "llvm", "mlir", "lib/Layout", "dialect", "lib/Facts", "lib/Plan", "lib/Sync",
        "lib/Transforms",
    },
    "lib/Plugin": {"mlir", "dialect", "lib/Plan", "lib/Transforms"},
    "lib/Runtime": {"lib/Runtime"},
    "python/bindings": {
        "llvm", "mlir", "mlir-c", "lib/Layout", "dialect", "lib/Facts", "lib/Plan", "lib/Sync",
        "lib/Transforms",
        "python/bindings",
    },
    "python/emulator_core": {"python/emulator_core"},
}  # fmt: skip
"""What a file of a folder may include, besides the headers of the language and of nanobind."""

MAY_NAME_NVVM = {
    "lib/Facts/ClusterUniformity.cpp", "lib/Facts/Origins.cpp", "lib/Sync/BarrierUses.cpp",
    "lib/Sync/SyncOps.cpp",
}  # fmt: skip
"""They read fences, cluster barriers and mapped addresses, which kernels write in upstream's nvvm
ops."""

COMPILER = {
    "mlir_tile.compiler", "mlir_tile.legalize", "mlir_tile.passes", "mlir_tile.scripted",
}  # fmt: skip
RUNTIME = {"mlir_tile.program", "mlir_tile.runtime", "numpy", "tile_emulator"}

MUST_NOT_IMPORT = {
    "python/tile_emulator": {"mlir", "mlir_tile", "tile_kernels", "tile_tools"},
    "python/tile_kernels": {"mlir_tile._tile", "mlir_tile.runtime", "tile_tools"} | COMPILER,
    "python/mlir_tile": {"tile_kernels", "tile_tools"},
    "python/mlir_tile/errors.py": {"mlir", "mlir_tile", "numpy"},
    "python/mlir_tile/ptx_versions.py": {"mlir", "mlir_tile", "numpy"},
    "python/mlir_tile/dialects": COMPILER | RUNTIME,
    "python/mlir_tile/legalize": {"mlir_tile.compiler", "mlir_tile.passes"} | RUNTIME,
    "python/mlir_tile/passes": RUNTIME,
    "python/mlir_tile/compiler": RUNTIME,
    "python/mlir_tile/native": COMPILER | RUNTIME,
    "python/mlir_tile/viewer": {"mlir_tile.legalize", "tile_emulator", "mlir_tile.runtime"},
    "python/mlir_tile/runtime": {"mlir_tile.dialects", "mlir_tile.program"} | COMPILER,
}  # fmt: skip
"""What no module of a folder, or a file, imports. The analysis decides, the legalization obeys, the
compiler knows no runtime, and the runtime neither the compiler nor a tile op: `program.py` joins
the two. The emulator knows no MLIR at all."""


def includes(text: str) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE)


def included_folder(include: str, folder: str) -> str:
    """Return the folder or the library of an include; empty for the language's own headers."""
    first = include.split("/")[0]
    if first in ("llvm", "mlir", "mlir-c"):
        return first
    if "/" not in include:
        return folder if (PROJECT / folder / include).exists() else ""
    parent = include.rpartition("/")[0]
    return parent if (PROJECT / parent).is_dir() else ""


def cpp_complaints(path: Path, text: str) -> list[str]:
    """Return the includes of a C++ file that point the wrong way."""
    folder = str(path.parent)
    if folder not in MAY_INCLUDE:
        return [f"{folder} has no line in MAY_INCLUDE"]
    folders = {include: included_folder(include, folder) for include in includes(text)}
    found = [
        f"{path} includes {include}"
        for include, place in folders.items()
        if place and place not in MAY_INCLUDE[folder]
    ]
    if (
        folder in ("lib/Facts", "lib/Plan", "lib/Sync")
        and str(path) not in MAY_NAME_NVVM
        and re.search("nvvm", text, re.I)
    ):
        found.append(f"{path} names NVVM")
    return found


def imports(path: Path, text: str) -> set[str]:
    """Return the modules that a file imports, by their full names."""
    package = path.relative_to(path.parts[0]).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.add(module)
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


def python_complaints(path: Path, text: str) -> list[str]:
    """Return the imports of a Python file that point the wrong way."""
    return [
        f"{path} imports {module}"
        for folder, forbidden in MUST_NOT_IMPORT.items()
        if path.is_relative_to(folder)
        for module in sorted(imports(path, text))
        if any(module == name or module.startswith(f"{name}.") for name in forbidden)
    ]


def test_includes_point_one_way() -> None:
    paths = [
        path
        for path in source_files()
        if path.parts[0] in ("dialect", "lib", "python", "tools") and path.suffix in (".cpp", ".h")
    ]
    assert len(paths) > 50
    assert [text for p in paths for text in cpp_complaints(p, (PROJECT / p).read_text())] == []


def test_the_core_of_the_emulator_links_no_mlir() -> None:
    for name, links in (("tile_emulator._tile_emulator", False), ("mlir_tile._tile", True)):
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        binary = Path(spec.origin).read_bytes()
        assert (b"libMLIR" in binary or b"libLLVM" in binary) == links, name


def test_imports_point_one_way() -> None:
    paths = [path for path in source_files() if path.suffix == ".py" and path.parts[0] == "python"]
    assert len(paths) > 50
    assert [text for p in paths for text in python_complaints(p, (PROJECT / p).read_text())] == []


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("lib/Layout/Cut.cpp", '"dialect/TileDialect.h"'),
        ("lib/Layout/Cut.cpp", '"mlir/IR/Builders.h"'),
        ("dialect/TileOps.cpp", '"lib/Plan/Tile.h"'),
        ("dialect/TileOps.cpp", '"lib/Transforms/Passes.h"'),
        ("lib/Plan/Tile.cpp", '"lib/Transforms/Passes.h"'),
        ("lib/Plan/Tile.cpp", '"mlir/Dialect/LLVMIR/NVVMDialect.h"'),
        ("lib/Runtime/Launch.cpp", '"dialect/TileDialect.h"'),
        ("lib/Runtime/Launch.cpp", "<mlir/IR/Builders.h>"),
        ("lib/Runtime/Launch.cpp", '"llvm/ADT/ArrayRef.h"'),
        ("lib/Elsewhere/New.cpp", "<vector>"),
        ("python/emulator_core/Module.cpp", '"llvm/ADT/ArrayRef.h"'),
        ("python/emulator_core/Module.cpp", '"lib/Layout/Layout.h"'),
    ],
)
def test_a_wrong_include_is_found(path: str, include: str) -> None:
    assert cpp_complaints(Path(path), f"#include {include}\n") != []


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("lib/Layout/Cut.cpp", '"lib/Layout/Layout.h"'),
        ("lib/Layout/Cut.cpp", "<vector>"),
        ("dialect/TileOps.cpp", '"lib/Layout/Layout.h"'),
        ("lib/Runtime/Launch.cpp", '"HostCall.h"'),
        ("python/bindings/TileModule.cpp", "<nanobind/nanobind.h>"),
        ("python/emulator_core/Module.cpp", '"Operations.h"'),
    ],
)
def test_a_right_include_passes(path: str, include: str) -> None:
    assert cpp_complaints(Path(path), f"#include {include}\n") == []


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("python/tile_emulator/cli.py", "import mlir.ir"),
        ("python/tile_emulator/cli.py", "from mlir_tile import lower"),
        ("python/tile_emulator/machine/cta.py", "def f():\n    from mlir import ir"),
        ("python/mlir_tile/legalize/bulk.py", "from ..runtime import devices"),
        ("python/mlir_tile/legalize/bulk.py", "from .. import runtime"),
        ("python/mlir_tile/legalize/bulk.py", "import numpy as np"),
        ("python/mlir_tile/runtime/executable.py", "from ..dialects import tile"),
        ("python/mlir_tile/runtime/executable.py", "from mlir_tile.legalize import PATTERNS"),
        ("python/mlir_tile/program.py", "import tile_tools.run"),
        (
            "python/mlir_tile/runtime/saved.py",
            "def f():\n    import mlir_tile.compiler",
        ),
        ("python/mlir_tile/compiler/lowering.py", "from ..runtime.executable import Executable"),
        ("python/mlir_tile/compiler/lowering.py", "from .. import program"),
        ("python/mlir_tile/errors.py", "from .runtime import library"),
    ],
)
def test_a_wrong_import_is_found(path: str, statement: str) -> None:
    assert python_complaints(Path(path), statement) != []


@pytest.mark.parametrize(
    ("path", "statement"),
    [
        ("python/tile_emulator/cli.py", "import numpy"),
        ("python/mlir_tile/legalize/bulk.py", "from ..dialects import tile"),
        ("python/mlir_tile/legalize/bulk.py", "from mlir import ir"),
        ("python/mlir_tile/runtime/executable.py", "import tile_emulator"),
        ("python/mlir_tile/program.py", "from .runtime.executable import Executable"),
    ],
)
def test_a_right_import_passes(path: str, statement: str) -> None:
    assert python_complaints(Path(path), statement) == []


def test_a_variant_is_named_in_its_file_and_in_one_table() -> None:
    """Adding one adds a file in C++, a file in Python and a line in each of two tables."""
    declared = {
        match[1]: path
        for path in (PROJECT / "lib/Plan").glob("*Variant.cpp")
        for match in re.finditer(r'variant\.name = "(\w+)"', path.read_text())
    }
    listed = re.findall(
        r"^TILE_VARIANT\((\w+)\)", (PROJECT / "lib/Plan/Variants.def").read_text(), re.M
    )
    assert len(listed) == len(declared) >= 2
    table = PROJECT / "python/mlir_tile/legalize/copy_async.py"
    for name, path in declared.items():
        folders = ("lib", "dialect", "python/bindings", "python/mlir_tile")
        sources = [
            PROJECT / source
            for source in source_files()
            if any(source.is_relative_to(folder) for folder in folders)
            and source.suffix in (".cpp", ".h", ".def", ".py")
        ]
        naming = {
            found for found in sources if re.search(rf"""(["'])(?:{name})\1""", found.read_text())
        }
        assert naming == {path, table}, name
