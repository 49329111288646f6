# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every file has, and the map of the tree in README.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from source_tree import PROJECT, source_files

FILES = list(source_files())
LICENSE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
NOT_SOURCES = {".md", ".json", ".npy", ".svg", ".png", ".gitignore", ".lock", ".typed", "LICENSE"}
"""Pages, which are read as they are, and what has no comments."""


def has_license(text: str) -> bool:
    return LICENSE in "".join(text.splitlines(keepends=True)[:3])


def is_source(path: Path) -> bool:
    if path.is_relative_to("test/fuzz/corpus"):
        return False  # inputs as they were found
    return (path.suffix or path.name) not in NOT_SOURCES and path.name != ".clang-format"


def test_each_source_file_names_its_license() -> None:
    assert [str(path) for path in FILES if is_source(path) and not has_license(
        (PROJECT / path).read_text()
    )] == []  # fmt: skip
    assert {".py", ".cpp", ".h", ".td", ".mlir", ".ptx"} <= {path.suffix for path in FILES}


def test_a_missing_license_is_found() -> None:
    assert has_license(f"#!/bin/sh\n# {LICENSE}\n")
    assert not has_license(f"# {LICENSE.replace('2.0', '1.0')}\n")
    assert not has_license("\n" * 3 + f"# {LICENSE}\n")


README = (PROJECT / "README.md").read_text()
MAP = README[README.index("## The tree") :]
MAP = MAP[: MAP.index("\n## ", 1)]
MAPPED = set(
    re.findall(r"`([a-z]\w*(?:/\w+)*)/?`", "".join(re.findall(r"^\| (.*?) \|", MAP, re.M)))
)


@pytest.mark.parametrize("folder", sorted(MAPPED))
def test_each_folder_of_the_map_is_there(folder: str) -> None:
    assert (PROJECT / folder).is_dir()


def folders_to_map() -> set[str]:
    """Return the folders at the top, and those of stages below lib, python and tools."""
    found = {path.parts[0] for path in FILES if len(path.parts) > 1}
    for path in FILES:
        if len(path.parts) > 2 and path.parts[0] in ("lib", "python"):
            found.add("/".join(path.parts[:2]))
    return {folder for folder in found if not folder.startswith(".")} - {"lib", "python"}


def test_each_folder_is_on_the_map() -> None:
    assert folders_to_map() - MAPPED == set()


def test_each_tool_is_on_the_map() -> None:
    project = (PROJECT / "pyproject.toml").read_text()
    scripts = project[project.index("[project.scripts]") :]
    tools = re.findall(r"^([\w-]+) = ", scripts[: scripts.index("\n[", 1)], re.M)
    assert "tile-opt" in tools
    assert [tool for tool in tools if f"`{tool}`" not in MAP] == []


def test_the_changelog_has_the_headings_of_its_format() -> None:
    changes = (PROJECT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.*?)\]", changes, re.M)
    assert headings[0] == "Unreleased"
    assert set(re.findall(r"^### (.*)$", changes, re.M)) <= {
        "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security",
    }  # fmt: skip


def test_a_commit_is_checked_for_what_make_lint_checks() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    (recipe,) = re.findall(r"^lint: .*\n((?:\t.*\n)+)", makefile, re.M)
    commands = re.findall(r"\t\$\(BIN\)/(\S+(?: (?:check|format))?)", recipe)
    hooks = re.findall(
        r"entry: \.venv/bin/(\S+(?: (?:check|format))?)",
        (PROJECT / ".pre-commit-config.yaml").read_text(),
    )
    assert sorted(commands) == sorted(hooks)
    assert "mypy" in commands
