# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong usage of the tools: status 2, before anything is read or written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tile_tools import compile as tile_compile
from tile_tools import layout, run

EXAMPLE = Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir"
ARRAYS = ["--arg", "iota:128x64xf16", "--arg", "zeros:128x64xf16", "--device", "emulator"]

Refused = Callable[[str, Sequence[object]], str]


def status_of(tool: str, arguments: Sequence[object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a tool in this process; return its exit status."""
    texts = list(map(str, arguments))
    if tool == "run":
        return run.main(texts)
    if tool == "layout":
        return layout.main(texts)
    monkeypatch.setattr(sys, "argv", ["tile-compile", *texts])
    return tile_compile.main()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "same.mlir"
    path.write_text(EXAMPLE.read_text())
    return path


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Return what runs a tool that must end with 2, and returns what it says."""

    def check(tool: str, arguments: Sequence[object]) -> str:
        with pytest.raises(SystemExit) as caught:
            status_of(tool, arguments, monkeypatch)
        assert caught.value.code == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        return shown.err.splitlines()[-1]

    return check


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("compile", ["", "--to", "analyze"]),
        ("compile", [EXAMPLE, "--to", "analyze", "-o", ""]),
        ("run", [""]),
        ("layout", [""]),
        ("layout", ["(8):(1)", "--svg", ""]),
        ("layout", ["(8):(1)", "--html", ""]),
    ],
)
def test_no_name_is_no_file(tool: str, arguments: list[object], refused: Refused) -> None:
    assert refused(tool, arguments).endswith("must be the name of a file, got ''")


@pytest.mark.parametrize(
    ("tool", "options"),
    [
        ("compile", ["--to", "analyze", "-o"]),
        ("layout", ["--svg"]),
        ("layout", ["--html"]),
        ("run", [*ARRAYS, "--save"]),
    ],
)
def test_an_output_does_not_replace_the_input(
    tool: str, options: list[str], file: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = "1=" if tool == "run" else ""
    link = file.with_name("link.mlir")
    link.symlink_to(file)
    for name in (file, link):
        said = refused(tool, [file, *options, f"{prefix}{name}"])
        assert said.endswith(f"{options[-1]} {name} would replace the input: name another file")
    assert file.read_text() == EXAMPLE.read_text()
    other = file.with_name("other")
    assert status_of(tool, [file, *options, f"{prefix}{other}"], monkeypatch) == 0
    assert other.exists()
    assert status_of(tool, [file, *options, f"{prefix}/dev/null"], monkeypatch) == 0


def test_two_outputs_are_two_files(
    file: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = file.with_name("one"), file.with_name("other")
    said = refused("layout", ["(8):(1)", "--svg", one, "--html", one])
    assert said.endswith(f"--html {one} would replace the file of --svg: name another file")
    said = refused("run", [file, *ARRAYS, "--save", f"0={one}", "--save", f"1={one}"])
    assert said.endswith(f"--save {one} would replace the file of --save: name another file")
    assert not one.exists()
    assert status_of("layout", ["(8):(1)", "--svg", one, "--html", other], monkeypatch) == 0
    assert one.exists() and other.exists()
    devices = ["--svg", "/dev/null", "--html", "/dev/null"]
    assert status_of("layout", ["(8):(1)", *devices], monkeypatch) == 0
