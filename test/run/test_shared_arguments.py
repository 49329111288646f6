# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options that tile-run and tile-emulate share mean the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tile_emulator import cli
from tile_emulator.arguments import parse_argument
from tile_tools import run

HOST = """\
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>) attributes {llvm.emit_c_interface} {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}
"""
COPY = """\
.version 8.1
.target sm_90
.address_size 64
.entry copy(.param .u64 a, .param .u64 b) {
  .reg .b64 %x, %y;
  .reg .b32 %t<4>;
  ld.param.u64 %x, [a];
  ld.param.u64 %y, [b];
  ld.global.v4.b32 {%t0, %t1, %t2, %t3}, [%x];
  st.global.v4.b32 [%y], {%t0, %t1, %t2, %t3};
  ret;
}
"""

Tool = Callable[[Sequence[str]], int]


@pytest.fixture(params=["run", "emulate"])
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> Tool:
    """Return what runs a program that copies argument 0 to argument 1, with further options."""
    if request.param == "run":
        program = tmp_path / "copy.mlir"
        program.write_text(HOST)
        return lambda options: run.main([str(program), "--device", "emulator", *options])
    kernel = tmp_path / "copy.ptx"
    kernel.write_text(COPY)
    return lambda options: cli.main([str(kernel), *options])


ARRAYS = ["--arg", "random:3:4xf32", "--arg", "zeros:4xf32"]


def test_save_writes_a_file_of_exactly_that_name(tool: Tool, tmp_path: Path) -> None:
    saved = tmp_path / "b"
    assert tool([*ARRAYS, "--expect", "1=0", "--save", f"1={saved}"]) == 0
    assert not saved.with_suffix(".npy").exists()
    np.testing.assert_array_equal(np.load(saved), parse_argument("random:3:4xf32"))
    assert tool([*ARRAYS, "--save", "1=/dev/null"]) == 0
    assert not Path("/dev/null.npy").exists()


def test_save_that_cannot_write_says_so(
    tool: Tool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none" / "b.npy"
    assert tool([*ARRAYS, "--save", f"1={path}"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count(str(path)) == 1
    assert said.endswith(": no such file or directory\n")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--save", "2=b.npy"], "argument 2 is not there: 2 are given"),
        (["--save", "b.npy"], "argument --save: must be I=FILE, got 'b.npy'"),
        (["--expect", "0=2"], "argument 2 is not there: 2 are given"),
        (["--expect", "0"], "argument --expect: must be I=J, got '0'"),
        (["--schedule", "soon"], "argument --schedule: schedule must be eager, late, random"),
        (["--checks", "some"], "argument --checks: checks must be off, default or strict"),
        (["--sched", "late"], "unrecognized arguments: --sched late"),
        (["--what"], "unrecognized arguments: --what"),
    ],
)  # fmt: skip
def test_wrong_options_are_wrong_usage(
    tool: Tool, option: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        tool([*ARRAYS, *option])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "status"),
    [
        ([], 0),
        (["--schedule", "explore:3", "--checks", "strict"], 0),
        (["--expect", "0=1"], 0),
        (["--entry", "other"], 1),
        (["--arg", "5"], 1),
        (["--arg", "what"], 1),
    ],
)
def test_other_options_end_alike(
    tool: Tool, option: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool([*ARRAYS, *option]) == status
    assert capsys.readouterr().err.startswith("error: " * status)


@pytest.mark.parametrize("value", ["-1", "0", "nan", "inf", "soon", ""])
def test_times_are_positive_and_end(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    parsers = {"--timeout": run.main, "--max-seconds": cli.main}
    for option, main in parsers.items():
        with pytest.raises(SystemExit) as caught:
            main(["file", f"{option}={value}"])
        assert caught.value.code == 2
        said = f"argument {option}: must be a positive number of seconds, got '{value}'"
        assert said in capsys.readouterr().err
        assert main(["missing", f"{option}=0.5"]) == 1
        capsys.readouterr()


@pytest.mark.parametrize(
    "options", [["--device", "gpu"], ["--device", "cuda", "--schedule", "late"]]
)
def test_devices_are_checked_before_the_program(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run.main(["missing.mlir", *options])
    assert caught.value.code == 2
    assert "--device" in capsys.readouterr().err
    assert run.main(["missing.mlir", "--device", "cuda:1"]) == 1
