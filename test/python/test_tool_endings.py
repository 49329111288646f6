# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the tools end where a stream is closed or full, a pipe is left, or a warning is an error."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "dsmem_copy.mlir")
ARRAYS = "--arg iota:128x64xf16 --arg zeros:128x64xf16"
RESULT = "func.func @main() -> i32 attributes {llvm.emit_c_interface} {\n" + (
    "  %c = arith.constant 7 : i32\n  return %c : i32\n}\n"
)
TAKEN = "func.func @main(%a: memref<4xf32>) attributes {llvm.emit_c_interface} { return }\n"
PTX = ".version 8.1\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n"
MODULES = {
    "run": "tile_tools.run",
    "compile": "tile_tools.compile",
    "layout": "tile_tools.layout",
    "emulate": "tile_tools.emulate",
    "emulator": "tile_emulator",
    "opt": "tile_tools.opt",
    "lsp": "tile_tools.lsp_server",
}


def run(command: str, **environment: str) -> tuple[int, str, str]:
    """Run a shell command in which $TOOL is a tool; return status, stdout and stderr.

    Names of files stand there quoted, as they may have spaces.
    """
    python = shlex.quote(sys.executable)
    words = {name.upper(): f"{python} -m {module}" for name, module in MODULES.items()}
    words |= {name: shlex.quote(value) for name, value in environment.items()}
    words.setdefault("FILE", shlex.quote(EXAMPLE))
    command = re.sub(r"\$([A-Z]+)\b", lambda match: words[match[1]], command)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        ["bash", "-c", command], env={**clean, **environment},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "result.mlir").write_text(RESULT)
    (tmp_path / "taken.mlir").write_text(TAKEN)
    (tmp_path / "k.ptx").write_text(PTX)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "$COMPILE $FILE --to analyze",
        "$COMPILE $FILE --to program",
        "$RUN $FOLDER/result.mlir --device emulator",
        "$RUN --version",
        "$LAYOUT '(8):(1)'",
        "$LAYOUT '(8):(1)' --svg -",
        "$EMULATE $FOLDER/k.ptx --stats",
        "$EMULATOR $FOLDER/k.ptx --stats",
        "$OPT --version",
        "$OPT $FILE",
        "$LSP --version",
    ],
)
def test_output_that_cannot_be_written_is_an_error(command: str, folder: Path) -> None:
    status, _, stderr = run(f"{command} | head -c 1000000 | wc -c", FOLDER=str(folder))
    assert (status, stderr) == (0, "")
    status, _, stderr = run(f"{command} >/dev/full", FOLDER=str(folder))
    assert (status, stderr) == (1, "error: standard output: no space left on device\n")
    status, _, stderr = run(f"{command} >&-", FOLDER=str(folder))
    if not command.startswith("$EMULATOR"):  # Python alone takes what is closed for nothing
        assert (status, stderr) == (1, "error: standard output: bad file descriptor\n")


WRITERS = [
    "$OPT $FILE -o",
    "$COMPILE $FILE --to ptx -o",
    "$COMPILE $FILE --to program -o",
    "$LAYOUT '(8):(1)' --svg",
    "$LAYOUT '(8):(1)' --html",
    "$RUN $FOLDER/taken.mlir --device emulator --arg zeros:4xf32 --save 0=",
]


@pytest.mark.parametrize("command", WRITERS)
def test_a_full_device_names_the_file(command: str, folder: Path) -> None:
    space = "" if command.endswith("=") else " "
    status, stdout, stderr = run(f"{command}{space}/dev/full", FOLDER=str(folder))
    assert (status, stdout) == (1, "")
    assert stderr == "error: /dev/full: no space left on device\n"


# tile-opt writes as mlir-opt does, and its errors pass through a file that cannot grow either.
@pytest.mark.parametrize("command", WRITERS[1:])
def test_a_file_that_cannot_grow_is_named_and_stays_as_it_was(command: str, folder: Path) -> None:
    space = "" if command.endswith("=") else " "
    out = folder / "out"
    out.write_text("before")
    # SIGXFSZ would end what does not ignore it.
    limited = f"trap '' XFSZ; ulimit -f 0; {command}{space}{out}"
    status, stdout, stderr = run(limited, FOLDER=str(folder))
    assert (status, stdout) == (1, "")
    assert stderr == f"error: {out}: file too large\n"
    assert out.read_text() == "before"
    assert not list(folder.glob(".tile-*"))


def test_the_emulator_names_a_file_that_it_cannot_write(folder: Path) -> None:
    (folder / "taken.ptx").write_text(PTX.replace("k()", "k(.param .u64 p)"))
    for tool in ("$EMULATE", "$EMULATOR"):
        command = f"{tool} $FOLDER/taken.ptx --save 0=/dev/full --arg zeros:4xf32"
        status, stdout, stderr = run(command, FOLDER=str(folder))
        assert (status, stdout) == (1, "")
        assert stderr == "error: '/dev/full' cannot be written: no space left on device\n"


@pytest.mark.parametrize("tool", ["$COMPILE --to ptx", "$RUN", "$LAYOUT", "$EMULATE", "$EMULATOR"])
def test_standard_input_that_is_closed_is_an_error(tool: str) -> None:
    status, stdout, stderr = run(f"{tool} - <&-")
    assert (status, stdout) == (1, "")
    assert stderr.startswith("error: ") and stderr.count("\n") == 1
    assert "closed" in stderr or "bad file descriptor" in stderr.lower()


def test_the_language_server_ends_without_standard_input() -> None:
    status, stdout, _ = run("$LSP <&-")
    assert (status, stdout) == (1, "")


@pytest.mark.parametrize("tool", ["$COMPILE --to ptx", "$RUN", "$LAYOUT", "$EMULATE"])
def test_errors_do_not_go_to_standard_output(tool: str) -> None:
    assert run(f"{tool} missing.mlir 2>&-") == (1, "", "")
    assert run(f"{tool} --wrong 2>&-") == (2, "", "")


def test_who_leaves_a_pipe_ends_a_tool_in_silence() -> None:
    status, stdout, stderr = run("set -o pipefail; $OPT --help | head -1")
    assert (status, stderr) == (128 + 13, "")  # by the signal, as mlir-opt
    assert stdout.startswith("OVERVIEW: ")
    status, stdout, stderr = run("$OPT --help | tail -1")
    assert (status, stderr) == (0, "")
    status, _, stderr = run("set -o pipefail; $COMPILE $FILE --to ptx | true")
    assert (status, stderr) == (1, "")


@pytest.mark.parametrize("tool", ["$OPT", "$LSP"])
def test_names_that_mlir_cannot_take_are_refused(tool: str) -> None:
    status, stdout, stderr = run(f"{tool} $'l\\xfc.mlir'")
    assert (status, stdout) == (1, "")
    assert stderr.startswith("error: argument 'l\\udcfc.mlir' must be UTF-8")


def test_warnings_show_no_source_and_can_be_errors(folder: Path) -> None:
    command = "$RUN $FOLDER/result.mlir --device emulator"
    assert run(command, FOLDER=str(folder)) == (0, "7\n", "")
    info = folder / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mlir_tile.variants]\nbroken = no_such_module\n")
    broken = {"FOLDER": str(folder), "PYTHONPATH": str(folder)}
    status, stdout, stderr = run(command, **broken)
    assert (status, stdout) == (0, "7\n")
    text = "cannot load the variants of no_such_module, "
    assert stderr.startswith(f"warning: {text}") and stderr.count("\n") == 1
    status, stdout, stderr = run(command, **broken, PYTHONWARNINGS="error")
    assert (status, stdout) == (1, "")
    assert stderr.startswith(f"error: {text}") and stderr.count("\n") == 1


def test_the_tools_of_mlir_end_as_documented() -> None:
    page = (ROOT / "docs" / "reference" / "tools.md").read_text()
    for command, said in (
        ("$OPT --bogus", "tile-opt: Unknown command line argument"),
        ("$LSP --bogus", "tile-lsp-server: Unknown command line argument"),
        ("$OPT x.mlir", "cannot open input file 'x.mlir': "),
    ):
        status, stdout, stderr = run(command)
        assert (status, stdout) == (1, "")
        assert stderr.startswith(said)
        assert said.replace("-lsp-server", "-opt") in page
    for tool, name in (("$OPT x.mlir", "tile-opt"), ("$LSP --log=error", "tile-lsp-server")):
        status, stdout, stderr = run(f"{tool} --version")
        assert (status, stderr) == (0, "")
        assert stdout.startswith(f"{name} ")


@pytest.mark.parametrize(
    "command",
    [
        "$RUN $FILE --device emulator",
        "$COMPILE $FILE --to program -o $OUT",
        "$COMPILE $FILE --to ptx",
    ],
)
def test_warnings_of_the_compiler_are_printed_once(command: str, tmp_path: Path) -> None:
    file = tmp_path / "forgot.mlir"
    file.write_text("""
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!t = memref<16xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @k(%r: i32, %i: index) workgroup(%s: !t, %d: !t) kernel {
    %bars = nvgpu.mbarrier.create -> !bars
    tile.copy_async %s to %d cta(%r) mbarrier(%bars[%i]) : !t to !t, !bars
    gpu.return
  }
}
func.func @main() attributes {llvm.emit_c_interface} { return }
""")
    variables = {"FILE": str(file), "OUT": str(tmp_path / "out")}
    status, _, stderr = run(command, **variables)
    assert status == 0
    assert stderr.count("'tile.copy_async' op comes on some path before any cluster barrier") == 1
    assert f"{file}:7:5: warning: 'tile.copy_async' op comes on some path" in stderr
    assert "warning: /" not in stderr and "Warning" not in stderr
