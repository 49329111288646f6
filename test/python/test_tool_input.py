# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools read: files, pipes and standard input say the same, under their own names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlir_tile as mt
from tile_tools.source import read

EXAMPLE = (Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir").read_text()
BROKEN = EXAMPLE.replace("tile.copy_async", "tile.copy_asink")
ARGUMENTS = ["--arg", "iota:128x64xf16", "--arg", "zeros:128x64xf16", "--device", "emulator"]
TOOLS = {
    "compile": ["--to", "ptx", "--line-info"],
    "run": [*ARGUMENTS, "--expect", "1=0"],
    "layout": ["--copy", "1"],
    "opt": ["--mlir-print-debuginfo"],
}


def run(
    tool: str, file: str, content: bytes | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a tool on `file`, with `content` in a pipe to its standard input."""
    command = [sys.executable, "-m", f"tile_tools.{tool}", file, *TOOLS[tool]]
    given = {"input": content} if content is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(
        command, cwd=folder, capture_output=True, timeout=600, check=False, **given
    )


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[str]:
    """A named pipe that has the example to say, once."""
    path = tmp_path / "example.fifo"
    os.mkfifo(path)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(path)!r}, 'w').write({EXAMPLE!r})"]
    )
    yield str(path)
    writer.kill()
    writer.wait()


def test_a_pipe_says_what_a_file_does(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "example.mlir"
    path.write_text(EXAMPLE)
    file, pipe = run(tool, str(path)), run(tool, "/dev/stdin", EXAMPLE.encode())
    assert (file.returncode, file.stderr) == (pipe.returncode, pipe.stderr) == (0, b"")
    if tool != "opt":  # it calls standard input <stdin>
        assert pipe.stdout.replace(b"/dev/stdin", bytes(path)) == file.stdout
    assert file.stdout or tool == "run"


def test_a_named_pipe_says_it_too(tool: str, fifo: str) -> None:
    done = run(tool, fifo)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout or tool == "run"


@pytest.mark.parametrize("name", ["/dev/stdin", "-"])
def test_an_error_in_a_pipe_names_it_and_the_line(tool: str, name: str) -> None:
    done = run(tool, name, BROKEN.encode())
    assert done.returncode == 1
    line = 1 + BROKEN[: BROKEN.index("tile.copy_asink")].count("\n")
    shown = "<stdin>" if tool == "opt" and name == "-" else name
    assert done.stderr.startswith(f"{shown}:{line}:11: error: custom op 'tile.copy_asink'".encode())


@pytest.mark.parametrize("name", ["/dev/stdin", "-"])
def test_a_saved_program_may_come_through_a_pipe(name: str) -> None:
    with mt.context():
        content = mt.compile(mt.parse(EXAMPLE)).__reduce__()[1][0]
    done = run("run", name, content)
    assert (done.returncode, done.stderr) == (0, b"")
    damaged = run("run", name, content[:-1])
    assert damaged.returncode == 1
    assert damaged.stderr.startswith(f"error: {name} is damaged: ".encode())


# MLIR opens tile-opt's file itself, and takes UTF-8 only: test_tool_endings.py.
@pytest.mark.parametrize("tool", sorted(TOOLS.keys() - {"opt"}))
def test_names_that_are_not_utf_8_are_read(tool: str, tmp_path: Path) -> None:
    for text, status in ((EXAMPLE, 0), (BROKEN, 1)):
        (tmp_path / "l\udcfc.mlir").write_text(text)
        done = run(tool, "l\udcfc.mlir", folder=tmp_path)
        assert done.returncode == status
        assert done.stderr.startswith(b"l\\udcfc.mlir:" * status)
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE,
        "func.func @a(%x: i32) { return }\nfunc.func private @b()\n",
        '#l = loc("else.mlir":3:4)\nfunc.func private @a() loc(#l)\nfunc.func private @b()\n',
        "func.func @a(%x: i1) {\n  cf.br ^b(%x : i1)\n^b(%y: i1):\n  return\n}\n",
        "",
    ],
)
def test_locations_are_those_of_the_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "named.mlir"
    path.write_text(text)
    with mt.context():
        ours, upstream = read(str(path)).module(), mt.parse_file(path)
        shown = [each.operation.get_asm(enable_debug_info=True) for each in (ours, upstream)]
    assert "named.mlir" in shown[1]
    assert shown[0] == shown[1]
