# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`help()` on every public name is worth reading: a docstring that names each parameter."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlir_tile
from mlir_tile import _tile, plugin

MODULES = [
    "mlir_tile",
    "mlir_tile.builders",
    "mlir_tile.dialects.tile",
    "mlir_tile.plugin",
    "mlir_tile.runtime",
    "mlir_tile.runtime.kernel",
    "mlir_tile.scripted",
    "mlir_tile.variants",
    "tile_emulator",
]


def public_names(module: object) -> list[str]:
    """Return what a module says is public, or else what it defines without an underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def members(cls: type) -> Iterator[tuple[str, object]]:
    """Yield the public functions and properties that a class defines itself."""
    for name, value in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if inspect.isfunction(value) or isinstance(value, property):
            yield name, value


def is_generated(value: object) -> bool:
    """Whether MLIR generates it: op classes and enums, whose text stands in ODS."""
    return "_gen" in getattr(value, "__module__", "") or getattr(
        value, "__module__", ""
    ).startswith("mlir_tile._tile")


def documented() -> Iterator[tuple[str, object]]:
    """Yield every public function and class with its name, once."""
    seen = set()
    for path in MODULES:
        module = importlib.import_module(path)
        for name in public_names(module):
            value = getattr(module, name)
            if id(value) in seen or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            seen.add(id(value))
            yield f"{path}.{name}", value
            if inspect.isclass(value) and not is_generated(value):
                for member, function in members(value):
                    yield f"{path}.{name}.{member}", function


NAMES = dict(documented())


def parameters(value: object) -> list[str]:
    """Return the names that the caller of `value` writes."""
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
    if inspect.isclass(value):
        if issubclass(value, BaseException | enum.Enum) or "__init__" not in vars(value):
            return []
        value = vars(value)["__init__"]
    if not inspect.isfunction(value):
        return []
    names = list(inspect.signature(value).parameters)
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_docstring(name: str) -> None:
    text = inspect.getdoc(NAMES[name]) or ""
    # What dataclass writes is the signature only.
    assert len(text) > 15
    assert not text.startswith(f"{name.rpartition('.')[2]}(")


def unnamed(value: object) -> list[str]:
    """Return the parameters that the docstring does not name as code, in backquotes."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):
        text += inspect.getdoc(vars(value).get("__init__")) or ""
    code = " ".join(re.findall(r"`([^`]+)`", text))
    return [p for p in parameters(value) if not re.search(rf"\b{p}\b", code)]


@pytest.mark.parametrize("name", [n for n, v in NAMES.items() if not is_generated(v)])
def test_the_docstring_names_each_parameter(name: str) -> None:
    assert unnamed(NAMES[name]) == []


def test_a_parameter_that_only_prose_names_is_found() -> None:
    def move(to: str, name: str) -> None:
        """Move to the place of that name, and call it `name`."""

    assert unnamed(move) == ["to"]


def test_there_is_something_public() -> None:
    assert len(NAMES) > 60


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ([], 0, f"{plugin.path()}\n"),
        (["--help"], 0, "usage: python -m mlir_tile.plugin"),
        (["x"], 2, ""),
    ],
)
def test_the_command_that_finds_the_plugin_has_help(
    arguments: list[str], status: int, text: str
) -> None:
    command = [sys.executable, "-m", "mlir_tile.plugin", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == status
    assert done.stdout.startswith(text)
    assert bool(done.stdout) == (status == 0)


def stub() -> ast.Module:
    """Return the stub of the extension, from wherever it is installed."""
    # An editable install has it twice: installed, and for type checkers among the sources.
    paths = [p for f in mlir_tile.__path__ if (p := Path(f) / "_tile.pyi").exists()]
    assert any((path.parent / "py.typed").exists() for path in paths)
    (text,) = {path.read_text() for path in paths}
    return ast.parse(text)


def declared(body: list[ast.stmt]) -> set[str]:
    """Return the public functions, classes and constants among statements of a stub."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = {s.name for s in body if isinstance(s, kinds)}
    # Constants.
    targets = [s.target for s in body if isinstance(s, ast.AnnAssign)]
    names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def defined(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("_")}


def test_the_stub_has_every_name_of_the_extension() -> None:
    assert declared(stub().body) == defined(_tile)


@pytest.mark.parametrize(
    "name", ["CopyPlanAttr", "IssueAttr", "LayoutAttr", "ReductionKindAttr", "ScopeAttr"]
)
def test_the_stub_has_every_member_of_an_attribute(name: str) -> None:
    (cls,) = [s for s in stub().body if isinstance(s, ast.ClassDef) and s.name == name]
    inherited = {n for base in getattr(_tile, name).__mro__[1:] for n in defined(base)}
    own = defined(getattr(_tile, name)) - inherited
    assert own <= declared(cls.body)
    assert declared(cls.body) <= defined(getattr(_tile, name))


def test_the_stub_says_which_attribute_is_returned() -> None:
    (cls,) = [s for s in stub().body if isinstance(s, ast.ClassDef) and s.name == "LayoutAttr"]
    functions = {s.name: s for s in cls.body if isinstance(s, ast.FunctionDef)}
    for name in ("get", "coalesce", "compose", "divide"):
        returns = functions[name].returns
        assert returns is not None
        assert ast.unparse(returns) == "LayoutAttr"
        # The signature is written by hand, so that it could grow old.
        written = [arg.arg for arg in functions[name].args.args]
        compiled = getattr(_tile.LayoutAttr, name).__doc__.splitlines()[0]
        assert [n for n in written if n != "self"] == re.findall(r"(\w+): ", compiled)


@pytest.mark.parametrize("name", sorted(n for n in dir(_tile) if not n.startswith("_")))
def test_the_extension_is_documented(name: str) -> None:
    value = getattr(_tile, name)
    if inspect.isclass(value):
        return
    assert len(value.__doc__.splitlines()) > 1  # the signature and a text
