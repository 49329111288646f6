# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the PTX assembler makes of bulk copies: one instruction each, where a lane is elected.

Needs `ptxas` of a CUDA toolkit, and mostly `nvdisasm`.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from cases import chunks, fixed_cases
from copy_program import program

import mlir_tile as mt

(CASE,) = (case for case in fixed_cases() if case.name == "chunks_1024")
COPIES = 16


def tool(name: str) -> str:
    """Return the path of a tool of the CUDA toolkit; skip where there is none."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if found is None:
        pytest.skip(f"no {name}")
    return found


def between_copies(issue: str, folder: Path) -> list[str]:
    """Return the machine code from each bulk copy to the next."""
    with mt.context():
        ptx = mt.compile(mt.parse(program(CASE, issue, 32, 1, 4))).ptx["kernels"]
    (folder / "kernel.ptx").write_text(ptx)
    cubin = str(folder / "kernel.cubin")
    subprocess.run([tool("ptxas"), "-arch=sm_90", folder / "kernel.ptx", "-o", cubin], check=True)
    command = [tool("nvdisasm"), "-c", cubin]
    code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.split(r"UBLKCP.*\n", code)[1:-1]


def test_an_elected_lane_issues_bare_copies(tmp_path: Path) -> None:
    gaps = between_copies("warp", tmp_path)
    tiles, rest = divmod(len(gaps) + 1, COPIES)
    assert tiles >= 1 and rest == 0
    # Between one tile and the next stands the wait.
    waits = [gap for gap in gaps if re.search(r"\b(BRA|VOTE|VOTEU|ELECT|R2UR)\b", gap)]
    assert len(waits) == tiles - 1


def test_one_thread_behind_a_branch_does_not(tmp_path: Path) -> None:
    """The control: the assembler does not know that one lane is active."""
    assert any("BRA" in gap for gap in between_copies("thread", tmp_path))


def test_hundreds_of_copies_take_few_registers(tmp_path: Path) -> None:
    """Written out, as it was once, their addresses took all 255, and memory besides."""
    uneven = chunks("uneven", 64, 362, 80, 128)
    with mt.context():
        ptx = mt.compile(mt.parse(program(uneven, "thread", 32, 2, 4))).ptx["kernels"]
    assert ptx.count("cp.async.bulk") == 2 * (64 + 362 % 64)
    (tmp_path / "kernel.ptx").write_text(ptx)
    command = [tool("ptxas"), "-v", "-arch=sm_90", tmp_path / "kernel.ptx", "-o", "/dev/null"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    registers = re.search(r"Used (\d+) registers", said)
    assert registers and int(registers[1]) <= 128, said
    assert "0 bytes spill stores, 0 bytes spill loads" in said
