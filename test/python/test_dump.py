# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MLIR_TILE_DUMP writes, and what programs and kernels are called when they are printed."""

from pathlib import Path

import numpy as np
import pytest

import mlir_tile as mt

EXAMPLE = Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir"
FOUND = {
    "input.mlir": "tile.copy_async",
    "analyze.mlir": "plan = #tile.copy_plan<",
    "legalize.mlir": "nvvm.cp.async.bulk",
    "nvvm.mlir": "llvm.func",
    "kernels.ptx": "cp.async.bulk.shared::cluster",
}


def files(folder: Path) -> dict[str, list[str]]:
    """Return the names of files without their numbers, by number."""
    found: dict[str, list[str]] = {}
    for path in folder.iterdir():
        number, name = path.name.split("_", 1)
        found.setdefault(number, []).append(name)
    return found


def test_each_stage_leaves_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_TILE_DUMP", str(tmp_path / "new"))
    for _ in range(2):
        mt.compile(EXAMPLE.read_text())
    found = files(tmp_path / "new")
    assert [sorted(names) for names in found.values()] == [sorted(FOUND)] * 2
    for number in found:
        for name, text in FOUND.items():
            assert text in (tmp_path / "new" / f"{number}_{name}").read_text()


def test_a_stage_that_fails_leaves_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_TILE_DUMP", str(tmp_path))
    space = "#gpu.address_space<workgroup>"
    rows, columns = f"memref<64x64xf16, {space}>", f"memref<64x64xf16, strided<[1, 64]>, {space}>"
    barriers = f"!nvgpu.mbarrier.group<memorySpace = {space}, num_barriers = 1>"
    text = f"""
    gpu.module @kernels {{
      gpu.func @f(%rank: i32) workgroup(%a: {rows}, %b: {columns}) kernel {{
        %c0 = arith.constant 0 : index
        %bars = nvgpu.mbarrier.create -> {barriers}
        tile.copy_async %a to %b cta(%rank) mbarrier(%bars[%c0]) : {rows} to {columns}, {barriers}
        gpu.return
      }}
    }}"""
    with pytest.raises(mt.CompileError, match="cannot be cut into bulk copies"):
        mt.compile(text)
    assert [path.name.split("_")[1] for path in tmp_path.iterdir()] == ["input.mlir"]


def test_nothing_is_written_without_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLIR_TILE_DUMP", raising=False)
    monkeypatch.chdir(tmp_path)
    mt.compile(EXAMPLE.read_text())
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MLIR_TILE_DUMP", str(tmp_path / "file"))
    with pytest.raises(ValueError, match=r"^MLIR_TILE_DUMP must name a folder to write to: "):
        mt.compile(EXAMPLE.read_text())


def test_programs_and_kernels_say_what_they_are() -> None:
    module = """
    gpu.module @kernels {
      gpu.func @copy(%a: memref<64xf32>, %n: i32) kernel attributes {
          known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
        gpu.return
      }
    }
    """
    executable = mt.compile(f"module attributes {{gpu.container_module}} {{{module}}}")
    assert repr(executable) == "<Executable with functions none; kernels kernels.copy>"
    kernel = executable.kernel("kernels", "copy", device="emulator")
    named = "<Kernel copy(memref<64xf32>, i32), block 64x1x1, cluster 2x1x1, device emulator>"
    assert repr(kernel) == named
    bound = kernel[4]
    assert repr(bound) == (
        "<BoundKernel copy: grid 4x1x1, block 64x1x1, cluster 2x1x1, 0 bytes of dynamic shared "
        "memory>"
    )
    bound(np.zeros(64, np.float32), 1)
    host = mt.compile(EXAMPLE.read_text())
    assert repr(host).startswith("<Executable with functions main(memref<")
