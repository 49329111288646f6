# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which findings are reported, which are left out, and what comes of a kernel that goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from faults.kernels import KERNELS, Kernel, parsed, run

import tile_emulator as te
from tile_emulator.cli import main

SCHEDULES = ["eager", "late", "random:1"]
HEADER = ".version 8.1\n.target sm_90a\n.address_size 64\n"

# Each thread stores its number, reads its neighbour's without a barrier, and adds 100 on the way.
RACES = (
    HEADER
    + """.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %r<9>; .reg .b64 %q<3>; .shared .align 4 .b32 sm[64];
  mov.u32 %t, %tid.x; mov.u32 %r0, sm; mad.lo.u32 %r1, %t, 4, %r0; xor.b32 %r2, %t, 1;
  mad.lo.u32 %r2, %r2, 4, %r0;
  st.shared.u32 [%r1], %t;
  ld.shared.u32 %r3, [%r2];
  add.u32 %r3, %r3, 100;
  st.shared.u32 [%r2], %r3;
  ld.shared.u32 %r4, [%r1];
  ld.param.u64 %q0, [out]; mad.wide.u32 %q0, %t, 4, %q0; st.global.u32 [%q0], %r4;
  ret;
}
"""
)
RACE_LINES = [9, 11, 12]


def launch(ptx: str, **options: object) -> tuple[te.Report, list[int]]:
    out = np.zeros(32, np.uint32)
    report = te.emulate(te.parse(ptx), "k", [out], block=32, **options)  # type: ignore[arg-type]
    return report, out.tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_kernel_that_goes_on_gives_values_and_each_report_once(schedule: str) -> None:
    report, values = launch(RACES, keep_going=True, schedule=schedule)
    assert values == [100 + i for i in range(32)]
    assert [(error.kind, error.ptx_line) for error in report.reports] == [
        ("race", line) for line in RACE_LINES
    ]
    with pytest.raises(te.EmulationError) as caught:
        launch(RACES, schedule=schedule)
    assert str(report.reports[0]) == str(caught.value)
    assert caught.value.earlier == ()
    report, _ = launch(RACES.replace("ld.shared.u32 %r3", "bar.sync 0; ld.shared.u32 %r3").replace(
        "add.u32", "bar.warp.sync -1; add.u32").replace("ld.shared.u32 %r4", "bar.sync 0;"
        "ld.shared.u32 %r4"), keep_going=True, schedule=schedule)  # fmt: skip
    assert report.reports == ()


def test_a_kernel_goes_on_after_copies_over_each_other() -> None:
    """All threads copy to the same bytes: who writes last has copies before it, and no thread."""
    ptx = (
        HEADER
        + """.visible .entry k(.param .u64 out) {
  .reg .b32 %s; .reg .b64 %o; .shared .align 16 .b8 sm[16];
  mov.u32 %s, sm; ld.param.u64 %o, [out];
  cp.async.ca.shared.global [%s], [%o], 16;
  cp.async.wait_all;
  ret;
}
"""
    )
    report, _ = launch(ptx, keep_going=True)
    assert [(error.kind, error.ptx_line) for error in report.reports] == [("in-flight", 7)]


def test_interleavings_share_their_reports() -> None:
    report, values = launch(RACES, keep_going=True, schedule="explore:5")
    assert len(report.reports) == len(RACE_LINES) and report.interleavings == 5
    assert values == [100 + i for i in range(32)]


def test_what_a_kernel_cannot_go_on_after_ends_it_with_what_came_before() -> None:
    with pytest.raises(te.EmulationError) as caught:
        launch(RACES.replace("[%q0], %r4", "[%q0+4096], %r4"), keep_going=True)
    assert caught.value.kind == "address"
    assert [error.ptx_line for error in caught.value.earlier] == RACE_LINES


@pytest.mark.parametrize(
    "checks", ["off", "default,-race", "strict,-race", "default,-in-flight,-race"]
)
def test_a_kind_that_is_left_out_is_not_reported(checks: str) -> None:
    report, values = launch(RACES, checks=checks)
    assert values == [100 + i for i in range(32)] and report.reports == ()


def test_a_kind_that_is_not_left_out_is_reported() -> None:
    for checks in ("default", "strict", "default,-in-flight", "default,-uninitialised-read"):
        with pytest.raises(te.EmulationError, match="race"):
            launch(RACES, checks=checks)


# One edit of a correct kernel each, with the kind that it is reported under; values stay right.
EDITS = [
    ("one_shot", ["in-flight", "proxy-fence"], "  bar.sync 1;\n", ""),
    ("one_shot", ["proxy-fence"], "  fence.proxy.async.shared::cta;\n", ""),
    ("hand_over", ["race"], "  bar.warp.sync 0xffffffff;\n  @%leader", "  @%leader"),
    ("acknowledged_exit", ["in-flight"], "mbarrier.arrive.release.cluster.shared::cluster.b64 _,",
     "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _,"),
]  # fmt: skip


def results(kernel: Kernel, text: str, checks: str, keep_going: bool) -> tuple[bytes, list[str]]:
    device = te.Device(checks=checks, keep_going=keep_going, max_steps=20_000)
    source, target = device.alloc(kernel.nbytes), device.alloc(kernel.nbytes)
    device.write(source, kernel.data)
    report = device.launch(
        parsed(text),
        "kernel",
        grid=kernel.cluster,
        block=kernel.threads,
        cluster=kernel.cluster,
        args=[source.to_bytes(8, "little"), target.to_bytes(8, "little")],
    )
    return device.read(target, kernel.nbytes), [error.kind for error in report.reports]


@pytest.mark.parametrize(("name", "kinds", "old", "new"), EDITS)
def test_copies_go_on_too(name: str, kinds: list[str], old: str, new: str) -> None:
    kernel = KERNELS[name]
    assert kernel.text.count(old) >= 1
    text = kernel.text.replace(old, new, 1)
    with pytest.raises(te.EmulationError) as caught:
        run(kernel, text, "eager")
    assert caught.value.kind == kinds[0]
    without = ",-".join(["default", *kinds])
    for checks, keep_going in (("off", False), (without, False), ("default", True)):
        values, found = results(kernel, text, checks, keep_going)
        assert values == kernel.expected(kernel.data)
        assert set(found) == (set(kinds) if keep_going else set())


def test_without_checks_a_deadlock_is_one_still() -> None:
    kernel = KERNELS["one_shot"]
    text = kernel.text.replace("[full], 1024;", "[full], 2048;")
    with pytest.raises(te.EmulationError) as caught:
        run(kernel, text, "eager", "off")
    assert caught.value.kind == "deadlock"


def test_the_command_line_goes_on_and_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, saved = tmp_path / "k.ptx", tmp_path / "out.npy"
    file.write_text(RACES)
    command = [str(file), "--block", "32", "--arg", "zeros:32xu32", "--save", f"0={saved}"]
    assert main(command) == 1
    assert capsys.readouterr().err.count("error: [race]") == 1 and not saved.exists()
    assert main([*command, "--keep-going"]) == 1
    assert capsys.readouterr().err.count("error: [race]") == len(RACE_LINES)
    assert np.load(saved).tolist() == [100 + i for i in range(32)]
    assert main([*command, "--checks", "default,-race"]) == 0
    assert main([*command, "--checks", "off"]) == 0
    assert capsys.readouterr().err == ""
