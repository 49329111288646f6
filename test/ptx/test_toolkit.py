# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cubins and fat binaries: which toolkit makes them, what it is told, and what is missing."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile.binaries import embedded_binaries, embedded_ptx
from mlir_tile.compiler import toolkit
from mlir_tile.ptx_versions import newest_ptx
from mlir_tile.runtime import saved
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import signatures_of

EM_CUDA = 190
FAT_BINARY_MAGIC = 0xBA55ED50


@pytest.fixture
def module() -> Iterator[ir.Module]:
    text = (Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir").read_text()
    with mt.context():
        yield mt.parse(text)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a toolkit, and a folder to put one."""
    for variable in toolkit.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(toolkit, "USUAL_PLACE", tmp_path / "usual")
    monkeypatch.setattr(toolkit, "_wheels", list)
    return tmp_path


def fake_toolkit(
    folder: Path, release: str = "12.0", tools: tuple[str, ...] = ("ptxas", "fatbinary")
) -> Path:
    """Put tools there that know their release and fail at all else."""
    (folder / "bin").mkdir(parents=True)
    for tool in tools:
        path = folder / "bin" / tool
        path.write_text(
            '#!/bin/sh\n[ "$1" = --version ] || { echo "refused" >&2; exit 255; }\n'
            f'echo "Cuda compilation tools, release {release}, V{release}.1"\n'
        )
        path.chmod(0o755)
    return folder


def real_toolkit() -> toolkit.Toolkit:
    """Return the machine's toolkit, which is to be found where its tools are on PATH."""
    tools = ("ptxas", "fatbinary")
    if not all(map(shutil.which, tools)):
        pytest.skip(f"not on PATH: {' or '.join(tools)}")
    return toolkit.find_toolkit(tools)


@pytest.mark.parametrize("chip", ["sm_90", "sm_90a"])
def test_a_cubin_is_elf_for_the_chip(chip: str, module: ir.Module) -> None:
    real_toolkit()
    lowered = mt.lower(module, "cubin", chip=chip)
    assert embedded_ptx(lowered) == {}
    (cubin,) = embedded_binaries(lowered).values()
    assert cubin[:4] == b"\x7fELF"
    (machine,) = struct.unpack_from("<H", cubin, 18)
    assert machine == EM_CUDA
    assert b".text.dsmem_copy\0" in cubin
    assert f"-arch {chip} ".encode() in cubin


def test_a_fat_binary_holds_the_ptx_too(module: ir.Module) -> None:
    real_toolkit()
    (cubin,) = embedded_binaries(mt.lower(module, "cubin")).values()
    (fat,) = embedded_binaries(mt.lower(module, "fatbin")).values()
    assert struct.unpack_from("<I", fat)[0] == FAT_BINARY_MAGIC
    assert len(fat) > len(cubin)


def test_a_program_with_a_cubin_is_saved_and_loaded(module: ir.Module) -> None:
    real_toolkit()
    lowered = mt.lower(module, "cubin")
    made = Executable(lowered, mt.compile(module).ptx, signatures_of(module))
    loaded = saved.from_bytes(saved.to_bytes(made))
    assert loaded.ptx == made.ptx
    assert embedded_binaries(loaded._module) == embedded_binaries(lowered)


@pytest.mark.parametrize("to", ["cubin", "fatbin"])
def test_the_emulator_runs_no_machine_code(to: str, module: ir.Module) -> None:
    real_toolkit()
    made = Executable(mt.lower(module, to), {}, signatures_of(module))
    a = np.zeros((128, 64), np.float16)
    with pytest.raises(mt.EmulatorError, match="the emulator runs PTX, and this is a cubin or fat"):
        made.invoke("main", a, a.copy(), device="emulator")


def test_what_was_looked_for_is_named(
    nowhere: Path, module: ir.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_PATH", str(nowhere / "gone"))
    with pytest.raises(mt.CompileError) as raised:
        mt.lower(module, "cubin")
    assert str(raised.value) == (
        f"no ptxas found: looked in CUDA_HOME (not set), CUDA_PATH ({nowhere}/gone), CUDA_ROOT (not"
        f" set), PATH, the wheels of this environment, {nowhere}/usual; install the CUDA toolkit or"
        " the wheel nvidia-cuda-nvcc or nvidia-cuda-nvcc-cu12, or compile to ptx, which needs none"
    )
    mt.lower(module, "ptx")  # the control


def test_a_fat_binary_needs_both_tools(nowhere: Path, module: ir.Module) -> None:
    fake_toolkit(nowhere / "usual", tools=("ptxas",))
    assert toolkit.find_toolkit().folder == nowhere / "usual"
    with pytest.raises(mt.CompileError, match="no ptxas and fatbinary found: looked in"):
        mt.lower(module, "fatbin")


def test_the_places_have_an_order(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folder() -> Path:
        return toolkit.find_toolkit(("ptxas", "fatbinary")).folder

    fake_toolkit(nowhere / "usual")
    assert folder() == nowhere / "usual"
    wheel = fake_toolkit(nowhere / "nvidia" / "cu13")
    monkeypatch.setattr(toolkit, "_wheels", lambda: [wheel])
    assert folder() == wheel
    on_path = fake_toolkit(nowhere / "on path")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert folder() == on_path
    for variable in reversed(toolkit.VARIABLES):
        monkeypatch.setenv(variable, str(fake_toolkit(nowhere / variable)))
        assert folder() == nowhere / variable


def test_wheels_are_found_in_both_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cu12", "cu13", "cuda_nvcc", "cublas"):
        (tmp_path / "nvidia" / name / "bin").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    found = [folder.name for folder in toolkit._wheels() if tmp_path in folder.parents]
    assert found == ["cu13", "cu12", "cuda_nvcc"]


def test_ptx_newer_than_the_assembler_names_both_versions(
    nowhere: Path, module: ir.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(fake_toolkit(nowhere / "old", "12.0")))
    with pytest.raises(mt.CompileError) as raised:
        mt.lower(module, "cubin")
    assert str(raised.value) == (
        f"PTX 8.1 is newer than {nowhere}/old/bin/ptxas takes: it is of CUDA 12.0 and takes PTX 8.0"
        " at most; set features to +ptx80, or install a newer toolkit"
    )
    # The control gets as far as the assembler, which refuses whatever it is given.
    with pytest.raises(mt.CompileError, match="refused"):
        mt.lower(module, "cubin", features="+ptx80")


def test_the_ptx_version_of_a_module_of_its_own_counts(
    nowhere: Path, module: ir.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(fake_toolkit(nowhere / "old", "12.3")))
    text = str(module).replace(
        "gpu.module @kernels",
        'gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx87">]',
    )
    with pytest.raises(mt.CompileError, match=r"PTX 8\.7 is newer than .* takes PTX 8\.3 at most"):
        mt.lower(mt.parse(text), "cubin")


@pytest.mark.parametrize(
    ("release", "newest"),
    [((11, 8), 78), ((12, 0), 80), ((12, 6), 85), ((13, 0), 90), ((13, 1), None), ((14, 0), None)],
)
def test_what_a_release_takes(release: tuple[int, int], newest: int | None) -> None:
    assert newest_ptx(release) == newest


@pytest.mark.parametrize("body", ["exit 3", "echo nonsense"])
def test_an_assembler_that_does_not_work_is_named(body: str, nowhere: Path) -> None:
    path = fake_toolkit(nowhere / "usual") / "bin" / "ptxas"
    path.write_text(f"#!/bin/sh\n{body}\n")
    with pytest.raises(mt.CompileError, match=rf"^{path} does not say its release"):
        toolkit.find_toolkit()


def test_what_the_assembler_says_arrives(module: ir.Module) -> None:
    found = real_toolkit()
    if found.release < (13, 0):
        pytest.skip("CUDA 12 has sm_101")
    with pytest.raises(mt.CompileError, match="'sm_101' is not defined"):
        mt.lower(module, "cubin", chip="sm_101", features="+ptx86")


@pytest.mark.gpu
def test_the_driver_loads_a_cubin_from_a_program(module: ir.Module) -> None:
    """The whole way with a cubin is `test_ahead_of_time.py`; this is the same from Python."""
    real_toolkit()
    for to in ("cubin", "fatbin"):
        made = Executable(mt.lower(module, to), {}, signatures_of(module))
        a = np.random.default_rng(0).random((128, 64)).astype(np.float16)
        b = np.zeros_like(a)
        made.invoke("main", a, b, device="cuda", timeout=600)
        assert (a == b).all()
