# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation builds as a site, its reference is complete, and what is broken fails."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import PROJECT

import mlir_tile as mt
import tile_emulator as te
import tile_kernels
from mlir_tile import builders, native, variants
from mlir_tile.dialects import tile
from mlir_tile.runtime import kernel

MKDOCS = Path(sys.executable).with_name("mkdocs")


def build(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MKDOCS, "build", "--site-dir", site],
        cwd=project, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=600, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(PROJECT, folder)
    assert done.returncode == 0, done.stdout
    return folder


def anchors(page: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', page.read_text()))


def test_the_reference_of_the_site_is_complete(site: Path) -> None:
    dialect = anchors(site / "reference" / "dialect.html")
    for name in tile.__all__:
        if name.endswith("Op"):
            anchor = getattr(tile, name).OPERATION_NAME.replace(".", "")
            assert anchor in dialect
    assert {"layoutattr", "copyplanattr", "issue", "scope"} <= dialect
    assert "tensormapl2promokind" not in dialect  # an enum of another dialect

    passes = html.unescape((site / "reference" / "passes.html").read_text())
    help_text = subprocess.run(
        [Path(sys.executable).with_name("tile-opt"), "--help"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    names = re.findall(r"^      --(tile-[\w-]+) ", help_text, re.MULTILINE)
    assert "tile-to-binary" in names
    for name in names:
        assert f"--{name} " in passes
    assert set(names) <= anchors(site / "reference" / "passes.html")

    python = anchors(site / "reference" / "python.html")
    for package in (mt, te, tile_kernels):
        for name in package.__all__:
            value = getattr(package, name)
            where = getattr(value, "__module__", package.__name__)
            full_name = {f"{package.__name__}.{name}", f"{where}.{name}"}
            assert full_name & python or full_name & NOT_IN_REFERENCE, f"{full_name} is missing"

    for module, name in [
        *[(tile, name) for name in tile.__all__ if name[0].islower()],
        *[(tile, name) for name in ("LayoutAttr", "CopyPlanAttr")],
        *[(builders, name) for name in ("kernel", "main", "launch", "barrier_group")],
        *[(variants, name) for name in variants.__all__],
        *[(native, name) for name in native.__all__],
        *[(kernel, name) for name in ("Kernel.load", "BoundKernel.on", "BoundKernel.__call__")],
    ]:
        assert f"{module.__name__}.{name}" in python
    assert not [name for name in python if re.search(r"\.__(?!call)\w+__$", name)]

    tools = anchors(site / "reference" / "tools.html")
    project = (PROJECT / "pyproject.toml").read_text()
    _, _, scripts = project.partition("[project.scripts]\n")
    for tool in re.findall(r"^([\w-]+) = ", scripts.partition("\n[")[0], re.MULTILINE):
        assert tool in tools or tool == "tile-opt", f"{tool} is missing"
    assert "usage: tile-run" in (site / "reference" / "tools.html").read_text()


NOT_IN_REFERENCE = {"tile_emulator.KINDS", "tile_emulator.Kernel"}
"""A table, which the page of the emulator explains, and another name of a class."""


def test_make_docs_builds_in_the_same_way() -> None:
    # With -q, MkDocs does not count warnings, and strict means nothing.
    assert "$(BIN)/mkdocs build\n" in (PROJECT / "Makefile").read_text()


def test_what_is_broken_fails_the_build(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for path in PROJECT.iterdir():
        if path.name == "docs":
            shutil.copytree(path, project / path.name)
        elif path.name not in ("build", ".git"):
            (project / path.name).symlink_to(path)
    links = ["missing.md", "../lib/missing.cpp", "explanation/design.md#no-such-heading"]
    text = "# Lost\n" + "".join(f"\n[x]({link})\n" for link in links)
    (project / "docs" / "lost.md").write_text(text)
    done = build(project, tmp_path / "site")
    assert done.returncode == 1
    for part in ("lost.md", *links):
        assert part.rpartition("#")[2] in done.stdout
    assert "Aborted with 4 warnings" in done.stdout
