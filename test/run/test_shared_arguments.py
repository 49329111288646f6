# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tile-run and tile-emulate share means the same.

It is written twice, as the emulator knows no MLIR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlir_tile.runtime.arguments import parse_argument
from tile_emulator import Error, cli, command
from tile_emulator.arguments import parse_argument as parse_for_emulator
from tile_tools import run

ELEMENTS = ["i1", "i8", "i16", "i32", "i64", "index", "f16", "f32", "f64", "bf16"]
FORMS = ["zeros", "iota", "random", "random:0", "random:7"]
SHAPES = ["", "0x", "1x", "3x5x", "70000x"]

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


def assert_same_bits(one: Any, other: Any) -> None:
    assert isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    assert one.shape == other.shape and one.itemsize == other.itemsize
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("form", FORMS)
def test_arrays_are_the_same_bit_for_bit(form: str, element: str) -> None:
    if element == "bf16":
        pytest.importorskip("ml_dtypes")
    for shape in SHAPES:
        text = f"{form}:{shape}{element}"
        ours, theirs = parse_argument(text), parse_for_emulator(text)
        assert_same_bits(ours, theirs)
        assert ours.dtype == theirs.dtype or element == "bf16"


def test_the_comparison_of_bits_finds_one() -> None:
    one = parse_argument("random:7:70000xf16")
    other = parse_for_emulator("random:7:70000xf16")
    other.view(np.uint16)[69999] ^= 1
    with pytest.raises(AssertionError):
        assert_same_bits(one, other)


@pytest.mark.parametrize(
    "text",
    ["0", "-3", "+3", "0x10", "0b11", "1_0", "007", "1.5", "-.5e3", "inf", "-infinity", "9" * 400],
)
def test_numbers_are_the_same(text: str) -> None:
    ours, theirs = parse_argument(text), parse_for_emulator(text)
    assert (ours, type(ours)) == (theirs, type(theirs))


@pytest.mark.parametrize(
    "text",
    [
        *("", "what", "1,5", "1 2", "gone.npy", "zeros:", "zeros:3x", "zeros:-3xf32"),
        *("iota:3xf17", "random:x:3xf32", f"zeros:{'1x' * 33}f32"),
    ],
)
def test_what_is_none_is_none_for_both(text: str) -> None:
    with pytest.raises(ValueError):
        parse_argument(text)
    with pytest.raises(Error):
        parse_for_emulator(text)


@pytest.mark.parametrize("dtype", ["f4", ">i2", "?", "c16", "U4", "V2"])
def test_files_are_the_same(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.frombuffer(bytes(6 * np.dtype(dtype).itemsize), dtype).reshape(2, 3))
    ours, theirs = parse_argument(str(path)), parse_for_emulator(str(path))
    assert_same_bits(ours, theirs)
    assert ours.dtype == theirs.dtype


NAN = np.frombuffer(bytes([0, 0, 0xC0, 0x7F]), np.float32)
OTHER_NAN = np.frombuffer(bytes([1, 0, 0xC0, 0xFF]), np.float32)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (NAN, OTHER_NAN, None),
        (np.float32([0.0]), np.float32([-0.0]), None),
        (np.zeros((2, 2)), np.zeros((2, 2)), None),
        (np.complex128([1, 2]), np.complex128([1, 2]), None),
        (5, 5, None),
        (NAN, np.float32([0.0]), "but 1 of 1 elements differ; the first at [0]: nan and 0.0"),
        (np.arange(4), np.array([0, 1, 3, 3]), "1 of 4 elements differ; the first at [2]: 2 and 3"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "1 of 2 elements differ; the first at [1]"),
        (np.complex128([1, 2]), np.complex128([1, 3]), "but 1 of 2 elements differ"),
        (np.zeros(2), np.zeros(3), "got float64[2] and float64[3]"),
        (np.zeros(2, "f4"), np.zeros(2, "i4"), "got float32[2] and int32[2]"),
        (5, 5.0, "got int64[] and float64[]"),
    ],
)  # fmt: skip
def test_expect_compares_in_one_way(a: Any, b: Any, said: str | None) -> None:
    if said is None:
        run.expect([a, b], 0, 1)
        command.compare(0, 1, a, b)
        return
    with pytest.raises(ValueError) as ours:
        run.expect([a, b], 0, 1)
    with pytest.raises(Error) as theirs:
        command.compare(0, 1, a, b)
    assert said in str(ours.value)
    assert str(ours.value) == str(theirs.value)


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
