# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What host functions return: values, and memory that is freed once by whoever has it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import host_programs
import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.runtime import results
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.library import library

HOST = """
module {
  memref.global "private" constant @table : memref<3xi32> = dense<[7, 8, 9]>
  func.func @made(%n: index, %x: f32) -> memref<?x2xf32> attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %m = memref.alloc(%n) : memref<?x2xf32>
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %c2 step %c1 {
        memref.store %x, %m[%i, %j] : memref<?x2xf32>
      }
    }
    return %m : memref<?x2xf32>
  }
  func.func @aligned() -> memref<4xf32> attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %x = arith.constant 1.5 : f32
    %m = memref.alloc() {alignment = 256} : memref<4xf32>
    memref.store %x, %m[%c0] : memref<4xf32>
    memref.store %x, %m[%c3] : memref<4xf32>
    return %m : memref<4xf32>
  }
  func.func @half() -> memref<2x4xi32, strided<[8, 2], offset: 1>>
      attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %m = memref.alloc() : memref<2x8xi32>
    %flat = memref.collapse_shape %m [[0, 1]] : memref<2x8xi32> into memref<16xi32>
    scf.for %i = %c0 to %c16 step %c1 {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %flat[%i] : memref<16xi32>
    }
    %s = memref.subview %m[0, 1] [2, 4] [1, 2]
      : memref<2x8xi32> to memref<2x4xi32, strided<[8, 2], offset: 1>>
    return %s : memref<2x4xi32, strided<[8, 2], offset: 1>>
  }
  func.func @same(%a: memref<?xf64>) -> memref<?xf64> attributes {llvm.emit_c_interface} {
    return %a : memref<?xf64>
  }
  func.func @tail(%a: memref<4xf64>) -> memref<2xf64, strided<[1], offset: 2>>
      attributes {llvm.emit_c_interface} {
    %s = memref.subview %a[2] [2] [1] : memref<4xf64> to memref<2xf64, strided<[1], offset: 2>>
    return %s : memref<2xf64, strided<[1], offset: 2>>
  }
  func.func @any_rank(%a: memref<*xf32>) -> memref<2xf32> attributes {llvm.emit_c_interface} {
    %m = memref.cast %a : memref<*xf32> to memref<2xf32>
    return %m : memref<2xf32>
  }
  func.func @constant() -> memref<3xi32> attributes {llvm.emit_c_interface} {
    %m = memref.get_global @table : memref<3xi32>
    return %m : memref<3xi32>
  }
  func.func @several(%a: memref<2xf32>) -> (i1, memref<2xf32>, f64, memref<i8>, memref<2xf32>, f16)
      attributes {llvm.emit_c_interface} {
    %true = arith.constant true
    %x = arith.constant 2.5 : f64
    %h = arith.constant 0.5 : f16
    %five = arith.constant 5 : i8
    %m = memref.alloc() : memref<2xf32>
    memref.copy %a, %m : memref<2xf32> to memref<2xf32>
    %z = memref.alloc() : memref<i8>
    memref.store %five, %z[] : memref<i8>
    return %true, %m, %x, %z, %m, %h
      : i1, memref<2xf32>, f64, memref<i8>, memref<2xf32>, f16
  }
  func.func @scalars(%a: i32) -> (i32, index) attributes {llvm.emit_c_interface} {
    %c = arith.index_cast %a : i32 to index
    return %a, %c : i32, index
  }
  func.func @stack() -> memref<4xf32> attributes {llvm.emit_c_interface} {
    %m = memref.alloca() : memref<4xf32>
    return %m : memref<4xf32>
  }
  func.func @freed() -> i32 attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %x = arith.constant 3 : i32
    %m = memref.alloc() : memref<4xi32>
    memref.store %x, %m[%c0] : memref<4xi32>
    %y = memref.load %m[%c0] : memref<4xi32>
    memref.dealloc %m : memref<4xi32>
    return %y : i32
  }
  func.func @frees(%a: memref<4xi32>) attributes {llvm.emit_c_interface} {
    memref.dealloc %a : memref<4xi32>
    return
  }
  func.func @device() -> memref<4xf32> attributes {llvm.emit_c_interface} {
    %t0 = gpu.wait async
    %m, %t1 = gpu.alloc async [%t0] () : memref<4xf32>
    gpu.wait [%t1]
    return %m : memref<4xf32>
  }
}
"""


@pytest.fixture(scope="module")
def host() -> Executable:
    return host_programs.compile_text(HOST)


@pytest.fixture
def freed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Addresses that are given back, in order."""
    seen: list[int] = []
    free = library().tile_runtime_free

    class Library:
        def __getattr__(self, name: str) -> Any:
            return getattr(library(), name)

        def tile_runtime_free(self, pointer: int) -> None:
            seen.append(pointer)
            free(pointer)

    monkeypatch.setattr(results, "library", Library)
    return seen


def call(host: Executable, name: str, *arguments: Any) -> Any:
    return host.invoke(name, *arguments, device="emulator")


def test_a_fresh_memref_is_the_callers_and_freed_with_its_last_view(
    host: Executable, freed: list[int]
) -> None:
    array = call(host, "made", 5, 2.5)
    assert array.shape == (5, 2) and array.dtype == np.float32 and (array == 2.5).all()
    array[2] = 7
    view = array[2:3].T
    del array
    gc.collect()
    assert view.tolist() == [[7.0], [7.0]] and freed == []
    del view
    gc.collect()
    assert len(freed) == 1


def test_memory_with_an_alignment_is_freed_as_it_was_allocated(
    host: Executable, freed: list[int]
) -> None:
    array = call(host, "aligned")
    assert array[0] == array[3] == 1.5 and array.ctypes.data % 256 == 0
    del array
    gc.collect()
    assert len(freed) == 1


def test_strides_and_offset_of_a_result_are_honoured_once(host: Executable) -> None:
    expected = np.arange(16, dtype=np.int32).reshape(2, 8)[:, 1::2]
    assert call(host, "half").tolist() == expected.tolist()


def test_an_arguments_memory_is_copied_and_never_freed(host: Executable, freed: list[int]) -> None:
    a = np.arange(4.0)
    for array, expected in (
        (call(host, "same", a), a),
        (call(host, "same", a[::-1].copy()), a[::-1]),
        (call(host, "tail", a), a[2:]),
        (call(host, "any_rank", np.float32([1, 2])), [1, 2]),
    ):
        assert array.tolist() == list(expected)
        assert not np.shares_memory(array, a)
    gc.collect()
    assert freed == []


def test_a_global_is_copied(host: Executable, freed: list[int]) -> None:
    array = call(host, "constant")
    array[:] = 0
    assert call(host, "constant").tolist() == [7, 8, 9]
    assert freed == []


def test_several_results_are_a_tuple_and_share_memory_as_they_did(
    host: Executable, freed: list[int]
) -> None:
    flag, first, number, zero_d, second, half = call(host, "several", np.float32([1, 2]))
    assert (flag, number, half) == (True, 2.5, 0.5)
    assert zero_d.shape == () and zero_d == 5
    assert np.shares_memory(first, second)
    del first
    gc.collect()
    assert second.tolist() == [1.0, 2.0] and freed == []
    del second, zero_d
    gc.collect()
    assert len(freed) == len(set(freed)) == 2
    assert call(host, "scalars", -3) == (-3, -3)


def test_a_result_without_elements_has_its_shape(host: Executable, freed: list[int]) -> None:
    assert call(host, "made", 0, 1.0).shape == (0, 2)
    assert call(host, "same", np.zeros(0)).shape == (0,)
    assert len(freed) == 1


@pytest.mark.parametrize("name", ["stack", "device"])
def test_other_memory_is_refused(name: str, host: Executable) -> None:
    with pytest.raises(mt.Error, match=rf"'{name}' returns memref<4xf32> in memory that is not"):
        call(host, name)


def test_what_the_program_frees_is_its_own_affair(host: Executable, freed: list[int]) -> None:
    assert call(host, "freed") == 3
    assert freed == []


def test_freeing_an_argument_is_an_error_and_frees_nothing(host: Executable) -> None:
    array = np.arange(4, dtype=np.int32)
    with pytest.raises(mt.LaunchError, match="frees memory that it did not allocate"):
        call(host, "frees", array)
    assert array.tolist() == [0, 1, 2, 3]


def test_results_of_a_failed_call_are_freed(host: Executable, fake, freed: list[int]) -> None:
    text = host_programs.FILL.replace(
        "%x: f32) attributes", "%x: f32) -> memref<4xf32> attributes"
    ).replace("    return\n", "    return %m : memref<4xf32>\n")
    start = "%t0 = gpu.wait async"
    text = text.replace(start, f"%m = memref.alloc() : memref<4xf32>\n{start}")
    program = host_programs.compile_text(text)
    array = np.zeros(64, np.float32)
    del freed[:]
    program.invoke("main", array, 1.0, device="cuda")
    gc.collect()
    assert len(freed) == 1
    fake.fail("cuLaunchKernelEx")
    with pytest.raises(mt.LaunchError):
        program.invoke("main", array, 1.0, device="cuda")
    assert len(freed) == 2


def test_many_results_do_not_fill_memory(host: Executable) -> None:
    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    for _ in range(3):
        call(host, "made", 1 << 17, 1.0)
    before = resident_bytes()
    for _ in range(60):
        call(host, "made", 1 << 17, 1.0)
    assert resident_bytes() - before < 20 << 20  # 60 of them have 60 MiB


def test_host_functions_are_attributes(host: Executable) -> None:
    assert host.scalars(4, device="emulator") == (4, 4)
    assert {"scalars", "made", "invoke", "ptx"} <= set(dir(host))
    with pytest.raises(AttributeError, match="host function 'nothing', have functions: aligned, "):
        host.nothing  # noqa: B018
    assert not hasattr(host, "nothing")
