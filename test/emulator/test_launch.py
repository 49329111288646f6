# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches, schedules, checks levels, and the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tile_copy import LINES, TILE_BYTES, run, tile_copy

import tile_emulator as te
from tile_emulator.cli import main

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"
EMPTY = HEADER + ".entry k() DIRECTIVES { BODY ret; }"


def launch(directives: str = "", body: str = "", **options: Any) -> None:
    text = EMPTY.replace("DIRECTIVES", directives).replace("BODY", body)
    te.emulate(te.parse(text), "k", **options)


@pytest.mark.parametrize(
    ("right", "wrong", "directives", "message"),
    [
        ({"grid": 4, "cluster": 2}, {"grid": 3, "cluster": 2}, "", "not divisible"),
        ({"grid": 16, "cluster": 16}, {"grid": 17, "cluster": 17}, "", "limit is 16"),
        ({"block": 1024}, {"block": 1025}, "", "limit is 1024"),
        ({"block": 64}, {"block": 32}, ".reqntid 64", "needs block"),
        ({"block": 64}, {"block": 96}, ".maxntid 64, 1, 1", "allows 64 threads"),
        (
            {"grid": 2, "cluster": 2},
            {"grid": 4, "cluster": 4},
            ".reqnctapercluster 2, 1, 1",
            "needs cluster",
        ),
        ({"smem": 232448}, {"smem": 232449}, "", "the limit is 232448"),
        ({"args": []}, {"args": [1]}, "", "takes 0 parameters, got 1"),
        ({"grid": 1}, {"grid": 0}, "", "grid must be"),
    ],
)
def test_launches_that_contradict_the_kernel_are_refused(
    right: dict[str, Any], wrong: dict[str, Any], directives: str, message: str
) -> None:
    launch(directives, **right)
    with pytest.raises(te.LaunchError, match=message):
        launch(directives, **wrong)


def test_an_unknown_kernel_is_named_beside_those_there_are() -> None:
    with pytest.raises(te.LaunchError, match="no kernel 'x' in the module, it has: k"):
        te.emulate(te.parse(EMPTY.replace("DIRECTIVES", "").replace("BODY", "")), "x")


def test_explore_tries_several_interleavings_and_keeps_one_result() -> None:
    a, b = run(tile_copy(), schedule="explore:5")
    np.testing.assert_array_equal(a, b)
    counter = (
        HEADER
        + """.entry k(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];
    red.global.add.u32 [%a], 1; ret; }"""
    )
    count = np.zeros(1, dtype=np.uint32)
    report = te.emulate(te.parse(counter), "k", [count], block=64, schedule="explore:4")
    assert count[0] == 64 and report.interleavings == 4


TABLE = (
    HEADER
    + """.func f() { ret; }
.global .u64 table[2] = {f, TARGET}; .global .u32 last[1] = {6};
.entry k(.param .u64 o) { .reg .b64 %a, %b, %c; .reg .b32 %r; .reg .pred %p;
  ld.param.u64 %a, [o]; ld.global.u32 %r, [last]; ld.global.v2.u64 {%b, %c}, [table];
  setp.ne.u64 %p, %b, %c; @%p add.u32 %r, %r, 1; st.global.u32 [%a], %r; ret; }
.entry calls() { .reg .b64 %a; ld.global.u64 %a, [table]; call %a, (), proto; ret; }"""
)


def test_a_table_of_functions_may_have_other_addresses_too() -> None:
    out = np.zeros(1, dtype=np.uint32)
    for target, same in (("f", 6), ("table", 7)):
        module = te.parse(TABLE.replace("TARGET", target))
        te.emulate(module, "k", [out])
        assert out[0] == same
        te.emulate(module, "calls")


def test_a_load_that_fails_stays_failed() -> None:
    device, module = te.Device(), te.parse(TABLE.replace("TARGET", "missing"))
    for _ in range(2):
        with pytest.raises(te.LaunchError, match="'table' points to 'missing', which has no addr"):
            device.launch(module, "k", args=[bytes(8)])


@pytest.mark.parametrize("schedule", ["", "eagre", "explore:0", "explore:x", "late:1"])
def test_unknown_schedules_are_refused(schedule: str) -> None:
    with pytest.raises(ValueError, match="schedule must be"):
        te.Device(schedule=schedule)


CLUSTER_SCOPE = {
    "wait": LINES["wait"].replace("parity", "parity.acquire.cluster"),
}


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
def test_strict_checks_want_cluster_scope_for_bytes_of_a_peer(schedule: str) -> None:
    run(tile_copy(), schedule=schedule)
    with pytest.raises(te.EmulationError) as caught:
        run(tile_copy(), schedule=schedule, checks="strict")
    assert caught.value.kind == "in-flight" and ".acquire.cluster" in caught.value.advice
    run(tile_copy(**CLUSTER_SCOPE), schedule=schedule, checks="strict")


def test_deadlock_reports_say_who_waits_and_what_came() -> None:
    with pytest.raises(te.EmulationError) as caught:
        run(tile_copy(arm=LINES["arm"].replace("16384", "20480")))
    text = str(caught.value)
    assert "armed with 20480 bytes, received 16384" in text
    assert "waiting on the mbarrier" in text and "waiting at the cluster barrier" in text


@pytest.fixture
def ptx(tmp_path: Path) -> Path:
    file = tmp_path / "copy.ptx"
    file.write_text(tile_copy())
    return file


COMMON = ["--entry", "copy", "--grid", "2", "--block", "128", "--cluster", "2"]
COMMON += ["--smem", str(2 * TILE_BYTES + 64)]
ARRAYS = ["--arg", "random:3:128x64xf16", "--arg", "zeros:128x64xf16"]


def test_the_command_runs_a_kernel_and_saves_arrays(ptx: Path, tmp_path: Path) -> None:
    saved = tmp_path / "b.npy"
    options = [*ARRAYS, "--expect", "1=0", "--save", f"1={saved}", "--schedule", "random:7"]
    assert main([str(ptx), *COMMON, *options]) == 0
    want = np.random.default_rng(3).uniform(-1, 1, 128 * 64).astype(np.float16)
    np.testing.assert_array_equal(np.load(saved), want.reshape(128, 64))
    assert main([str(ptx), *COMMON, "--arg", str(saved), ARRAYS[2], ARRAYS[3]]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*ARRAYS, "--expect", "0=1", "--grid", "2", "--smem", "64"], "error: ["),
        (
            ["--arg", "zeros:4xf99", "--arg", "5"],
            "error: argument 'zeros:4xf99' has an unknown type",
        ),
        (["--arg", "gone.npy", "--arg", "5"], "error: argument 'gone.npy' cannot be read"),
        (["--arg", "hex:0", "--arg", "5"], "error: argument 'hex:0' must have pairs"),
        (["--arg", "what", "--arg", "5"], "error: argument 'what' must be"),
        (["--arg", "i8:300", "--arg", "5"], "error: argument 'i8:300' does not fit"),
        (["--arg", "5"], "error: kernel 'copy' takes 2 parameters, got 1"),
        ([*ARRAYS, "--cluster", "3"], "error: kernel 'copy': grid x of 2 is not divisible"),
        ([*ARRAYS, "--entry", "other"], "error: no kernel 'other'"),
    ],
)
def test_the_command_explains_wrong_input(
    ptx: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(ptx), *COMMON, *options]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(message) and "Traceback" not in captured.err
    assert captured.out == ""


def test_the_command_reports_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broken.ptx"
    file.write_text(tile_copy(fence=""))
    assert main([str(file), *COMMON, *ARRAYS]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: [proxy-fence] ") and "advice: execute fence.proxy.async" in err


def test_expect_says_where_arrays_differ(ptx: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--arg", "zeros:128x64xf16", "--arg", "zeros:128x64xf16", "--arg", "iota:128x64xf16"]
    file = ptx.read_text().replace(".param .u64 b)", ".param .u64 b, .param .u64 c)")
    ptx.write_text(file)
    assert main([str(ptx), *COMMON, *options, "--expect", "1=2"]) == 1
    assert "must equal argument 2, but 8188 of 8192 elements differ; the first at [0, 1]" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "options",
    [["--grid", "0"], ["--smem", "-1"], ["--max-steps", "0"], ["--max-steps", "x"], ["--gri", "1"]],
)
def test_wrong_usage_ends_with_status_2(ptx: Path, options: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(ptx), *options])
    assert caught.value.code == 2


@pytest.mark.parametrize("dtype", ["complex128", "U4", "longdouble", "V2", "f2", "?"])
def test_expect_compares_whatever_a_file_holds(
    ptx: Path, dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    array = np.frombuffer(bytes(4 * np.dtype(dtype).itemsize), dtype).copy()
    np.save(tmp_path / "c.npy", array)
    array[2:3] = np.frombuffer(b"\1" + bytes(array.itemsize - 1), dtype)
    np.save(tmp_path / "d.npy", array)
    text = ptx.read_text().replace(".param .u64 b)", ".param .u64 b, .param .u64 c, .param .u64 d)")
    ptx.write_text(text)
    files = [f"--arg={tmp_path / name}" for name in ("c.npy", "d.npy")]
    options = [str(ptx), *COMMON, *ARRAYS, *files]
    assert main([*options, "--expect", "2=2"]) == 0
    assert main([*options, "--expect", "2=3"]) == 1
    assert "but 1 of 4 elements differ; the first at [2]" in capsys.readouterr().err


def test_files_that_are_no_ptx_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, binary, missing = (str(tmp_path / name) for name in ("empty", "binary", "missing"))
    Path(empty).write_text(" \n")
    Path(binary).write_bytes(b"\xff")
    for file, said in (
        (empty, "is empty, where PTX must begin with .version\n"),
        (binary, "cannot be read: 'utf-8' codec can't decode byte 0xff"),
        (missing, "cannot be read: no such file or directory\n"),
        (str(tmp_path), "cannot be read: is a directory\n"),
    ):
        assert main([file]) == 1
        assert capsys.readouterr().err.startswith(f"error: '{file}' {said}")


def test_help_says_what_each_option_is_and_how_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    options = re.split(r"\n  (?=-)", shown.partition("options:")[2].partition("\n\n")[0])[1:]
    assert len(options) == 16
    for option in options:
        assert re.search(r"(  |\n {20,})\w", option), f"{option} has no text"
    assert "(default 2000000000)" in " ".join(shown.split()) and "(default 120)" in shown
    assert "Exit status: 0 on success; 1 for" in shown
