# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the table of targets accepts is compiled, and what it refuses LLVM cannot compile."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile import _tile
from mlir_tile.compiler.target import check_target

FIRST_PTX = _tile.first_ptx()
PTX_VERSIONS = _tile.ptx_versions()

PROGRAM = """
gpu.module @kernels {
  gpu.func @send(%rank: i32)
      workgroup(%a: memref<64xf32, #gpu.address_space<workgroup>>,
                %b: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create
        -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    tile.copy_async %a to %b cta(%rank) mbarrier(%bars[%c0])
        : memref<64xf32, #gpu.address_space<workgroup>>
          to memref<64xf32, #gpu.address_space<workgroup>>,
          !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    gpu.return
  }
}
"""

# The same for llc, which knows only what LLVM knows.
LLVM_IR = """
target triple = "nvptx64-nvidia-cuda"
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.cluster(
    ptr addrspace(7), ptr addrspace(3), ptr addrspace(3), i32)
define ptx_kernel void @send(ptr addrspace(3) %a, ptr addrspace(3) %bar, i32 %rank) {
  %b = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %a, i32 %rank)
  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.cluster(
      ptr addrspace(7) %b, ptr addrspace(3) %bar, ptr addrspace(3) %a, i32 256)
  ret void
}
"""


def llc() -> Path:
    spec = importlib.util.find_spec("llvm")
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "bin" / "llc"


def llvm_compiles(chip: str, version: int) -> bool:
    command = [str(llc()), f"-mcpu={chip}", f"-mattr=+ptx{version}", "-o", "-", "-"]
    done = subprocess.run(command, input=LLVM_IR, capture_output=True, text=True, check=False)
    return done.returncode == 0 and f".version {version // 10}.{version % 10}\n" in done.stdout


@pytest.mark.parametrize("chip", FIRST_PTX)
def test_every_accepted_ptx_version_of_a_chip_compiles(chip: str) -> None:
    with mt.context():
        module = mt.parse(PROGRAM)
        for version in PTX_VERSIONS:
            if version < FIRST_PTX[chip]:
                continue
            ptx = mt.compile(module, chip=chip, features=f"+ptx{version}").ptx["kernels"]
            assert f".version {version // 10}.{version % 10}\n.target {chip}\n" in ptx
            assert "cp.async.bulk.shared::cluster.shared::cta" in ptx


@pytest.mark.parametrize("chip", FIRST_PTX)
def test_llvm_cannot_compile_the_version_before_the_first(chip: str) -> None:
    first = FIRST_PTX[chip]
    before = max((v for v in (78, *PTX_VERSIONS) if v < first), default=78)
    assert llvm_compiles(chip, first)
    assert not llvm_compiles(chip, before)
    with pytest.raises(ValueError, match=f"set features to \\+ptx{first}$"):
        check_target(chip, f"+ptx{before}")


@pytest.mark.parametrize("version", [79, 89, 91, 100])
def test_llvm_does_not_know_ptx_versions_that_are_not_in_the_table(version: int) -> None:
    assert not llvm_compiles("sm_90a", version)
    with pytest.raises(ValueError, match="set features to "):
        check_target("sm_90a", f"+ptx{version}")


def test_the_pipeline_takes_its_options_from_the_pass_manager() -> None:
    with mt.context():
        module = mt.parse(PROGRAM)
        options = "chip=sm_90a features=+ptx83 format=isa opt-level=0 line-info=true"
        manager = PassManager.parse(f"builtin.module(tile-to-binary{{{options}}})")
        manager.run(module.operation)
        text = str(module)
    assert ".version 8.3\\0A.target sm_90a" in text
    assert ".loc" in text


def test_a_wrong_option_is_an_error_of_the_pass_manager() -> None:
    with mt.context(), pytest.raises(ValueError, match=r"targets PTX 7\.8; .* needs 8\.0"):
        PassManager.parse("builtin.module(tile-to-binary{features=+ptx78})")
