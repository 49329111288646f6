# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of tile-layout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tile_tools.layout import main

PROJECT = Path(__file__).parents[2]
PARTING = "they first diverge at coordinate (64)"
KERNEL = """\
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
!src = memref<256xf16, #tile.layout<((4, 64)) : ((64, 1))>, #wg>
!dst = memref<256xf16, #tile.layout<((4, 64)) : ((1, 4))>, #wg>
!rows = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>, #wg>
!right = memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = 32>, #wg>
!some = memref<7x32xf16, #tile.layout<(7, 32) : (64, 1), offset = ?>, #wg>
!eight = memref<8x32xf16, #wg>
!seven = memref<7x32xf16, #wg>
!none = memref<0x4xf16, #wg>
gpu.module @kernels {
  gpu.func @send(%rank: i32, %bars: !bars, %i: index, %j: index)
      workgroup(%src: !src, %dst: !dst, %rows: !rows, %eight: !eight, %seven: !seven, %none: !none)
      kernel {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !src to !dst, !bars
    %right = tile.slice %rows[0, 32] [8, 32] : !rows to !right
    tile.copy_async %right to %eight cta(%rank) mbarrier(%bars[%i]) : !right to !eight, !bars
    %column = tile.assume_multiple %j, 8 : index
    %some = tile.slice %rows[1, %column] [7, 32] : !rows to !some
    tile.copy_async %some to %seven cta(%rank) mbarrier(%bars[%i]) : !some to !seven, !bars
    tile.copy_async %none to %none cta(%rank) mbarrier(%bars[%i]) : !none to !none, !bars
    gpu.return
  }
}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL)
    return str(path)


def test_every_copy_of_a_file_is_shown_in_its_order(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([kernel]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    declined, part, any_, none = shown.out.split(f"{kernel}:")[1:]
    assert declined.startswith("15:5: tile.copy_async: declined")
    assert PARTING in declined and "64 b0*" in declined
    # The region begins 32 elements into its buffer.
    assert "source: #tile.layout<(8, 32) : (64, 1), offset = 32> f16" in part
    assert "32 #0" in part and "chunk = 64, count = 8" in part
    # One row down; the column is known at run time only.
    assert "offset = 64> f16" in any_ and "count = 7" in any_
    assert "count = 0" in none


def test_one_copy_of_a_file_can_be_chosen(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([kernel, "--copy", "2"]) == 0
    assert capsys.readouterr().out.startswith(f"{kernel}:17:5: tile.copy_async\n")
    assert main([kernel, "--copy", "5"]) == 1
    assert capsys.readouterr().err == f"error: {kernel}: copy 5 is not there, it has 4\n"


def test_a_plan_that_a_file_brings_is_not_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = (
        "plan = #tile.copy_plan<bulk, chunk = 16, count = 32, loops = [32], "
        "src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>>"
    )
    path = tmp_path / "planned.mlir"
    path.write_text(
        KERNEL.replace(": !src to !dst, !bars", f"{{{stale}}} : !src to !dst, !bars", 1)
    )
    assert main([str(path), "--copy", "1"]) == 0
    assert "declined" in capsys.readouterr().out


def test_a_module_on_standard_input_is_shown() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tile_tools.layout", "-", "--copy", "1"],
        input=KERNEL, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert PARTING in done.stdout and "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu.module @k {", "error: expected operation name"),
        ("module {}", "no tile.copy_async in it to show"),
        (KERNEL.replace("cta(%rank)", "cta(%nobody)"), "use of undeclared SSA value name"),
    ],
)
def test_a_file_without_copies_to_show_is_an_error(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text(text)
    assert main([str(path)]) == 1
    shown = capsys.readouterr()
    assert message in shown.err and shown.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.mlir"], "error: missing.mlir: no such file or directory\n"),
        ([str(PROJECT)], f"error: {PROJECT}: is a directory\n"),
        (["kernels"], "error: 'kernels' is no file that is there, nor a layout: expected extents"),
        (["(8,64):(64,1)", "(8,64:(64,1)"], "unbalanced '(' character"),
        (["(8,64):(64,1)", "(8,32):(64,1)"], "must have the same shape"),
        (["(8,64):(64,1) f32", "(8,64):(64,1)"], "must have the same element type"),
        (["(8,64):(64,1)", "--at", "8,0"], "error: coordinate must be inside the tile of (8, 64)"),
        (["(8,64):(64,1)", "--color", "chunk"], "error: --color chunk needs a copy"),
        (["(8):(1)", "(8):(1)", "--variant", "tma"], "variant"),
    ],
)
def test_wrong_input_is_an_error_and_1(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert message in shown.err and shown.err.startswith("error: ")
    assert shown.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "b", "c"],
        ["(8):(1)", "x.mlir"],
        ["(8):(1)", "--issue", "warp"],
        ["(8):(1)", "--copy", "1"],
        ["(8):(1)", "(8):(1)", "--threads", "100"],
        ["(8):(1)", "--rows", "0"],
        ["(8):(1)", "--at", "x"],
        ["(8):(1)", "--svg", "-", "--html", "-"],
    ],
)
def test_wrong_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: tile-layout" in capsys.readouterr().err


def test_a_forced_variant_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["(256,32):(64,1)", "(256,32):(64,1)", "--issue", "cta"]
    assert main(pair) == 0
    assert "#tile.copy_plan<st_async" in capsys.readouterr().out
    assert main([*pair, "--variant", "bulk"]) == 0
    assert "#tile.copy_plan<bulk" in capsys.readouterr().out


def test_pictures_are_written_to_files_and_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, page = tmp_path / "a.svg", tmp_path / "a.html"
    assert main(["(8,64):(64,1)", "--svg", str(picture), "--html", str(page)]) == 0
    assert picture.read_text().startswith("<svg ")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("width", [60, 90, 200])
def test_as_many_columns_are_drawn_as_the_terminal_holds(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["(4,64):(1,4) f32"]) == 0
    grid = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert len(grid) == 5
    # One more column has longer numbers, and then all of them are wider.
    assert 0.8 * width < max(map(len, grid)) <= width
    assert main(["(4,64):(1,4) f32", "--columns", "40"]) == 0
    labels = capsys.readouterr().out.split("\n\n")[1].splitlines()[0].split()
    assert labels == [str(column) for column in range(40)]


def test_a_tile_of_a_thousand_million_elements_takes_no_longer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Visiting each element would take hours, and more memory than there is.
    big = "#tile.layout<(32768, 32768) : (32768, 1), swizzle = <3, 3, 3>> f16"
    assert main([big]) == 0
    assert main([big, "(32768,32768):(1,32768) f16"]) == 0
    assert "got 2147483648 bytes" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "colored"), [(None, True), ("", True), ("1", False)])
def test_a_terminal_has_colours_unless_no_color_says_something(
    value: str | None,
    colored: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    assert main(["(4,8):(8,1)"]) == 0
    assert ("\x1b[" in capsys.readouterr().out) is colored


def test_a_run_time_stride_is_drawn_without_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(Path(__file__).parents[2] / "examples" / "stream_copy.mlir")]) == 0
    shown = capsys.readouterr().out
    assert "source: #tile.layout<(16, 64) : (64, 1)> f32" in shown
    assert "steps = [?], strides = [0, 4]" in shown
