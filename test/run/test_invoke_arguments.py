# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What host functions take from Python, checked before anything runs; no device involved."""

from __future__ import annotations

from typing import Any

import host_programs
import numpy as np
import pytest

from mlir_tile.runtime import executable
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import Signature

HOST = """
module attributes {gpu.container_module} {
  func.func @first(%a: memref<4x?xf32, strided<[?, ?], offset: ?>>, %i: index, %j: index) -> f32
      attributes {llvm.emit_c_interface} {
    %x = memref.load %a[%i, %j] : memref<4x?xf32, strided<[?, ?], offset: ?>>
    return %x : f32
  }
  func.func @offset(%a: memref<4xf32, strided<[2], offset: 3>>, %i: index) -> f32
      attributes {llvm.emit_c_interface} {
    %x = memref.load %a[%i] : memref<4xf32, strided<[2], offset: 3>>
    return %x : f32
  }
  func.func @plain(%a: memref<4x8xf16>) attributes {llvm.emit_c_interface} { return }
  func.func @rows(%a: memref<?x8xi32>, %i: index, %j: index) -> i32
      attributes {llvm.emit_c_interface} {
    %x = memref.load %a[%i, %j] : memref<?x8xi32>
    return %x : i32
  }
  func.func @padded(%a: memref<2x4xf32, strided<[16, 1]>>) attributes {llvm.emit_c_interface} {
    return
  }
  func.func @zero_d(%a: memref<f64>) -> f64 attributes {llvm.emit_c_interface} {
    %x = memref.load %a[] : memref<f64>
    return %x : f64
  }
  func.func @unranked(%a: memref<*xf32>) -> index attributes {llvm.emit_c_interface} {
    %r = memref.rank %a : memref<*xf32>
    return %r : index
  }
  func.func @scalars(%a: i1, %b: i8, %c: i64, %d: f16, %e: f64, %f: i32) -> f64
      attributes {llvm.emit_c_interface} {
    %a64 = arith.uitofp %a : i1 to f64
    %b64 = arith.sitofp %b : i8 to f64
    %c64 = arith.sitofp %c : i64 to f64
    %d64 = arith.extf %d : f16 to f64
    %f64 = arith.sitofp %f : i32 to f64
    %s0 = arith.addf %a64, %b64 : f64
    %s1 = arith.addf %s0, %c64 : f64
    %s2 = arith.addf %s1, %d64 : f64
    %s3 = arith.addf %s2, %e : f64
    %s4 = arith.addf %s3, %f64 : f64
    return %s4 : f64
  }
  func.func @bf(%a: memref<2xbf16>, %x: bf16) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    memref.store %x, %a[%c1] : memref<2xbf16>
    return
  }
  func.func @answer() -> i32 attributes {llvm.emit_c_interface} {
    %x = arith.constant 42 : i32
    return %x : i32
  }
  func.func @is_even(%a: i32) -> i1 attributes {llvm.emit_c_interface} {
    %x = arith.trunci %a : i32 to i1
    %true = arith.constant true
    %y = arith.xori %x, %true : i1
    return %y : i1
  }
  func.func @any_rank() -> memref<*xf32> attributes {llvm.emit_c_interface} {
    %m = memref.alloc() : memref<4xf32>
    %u = memref.cast %m : memref<4xf32> to memref<*xf32>
    return %u : memref<*xf32>
  }
  func.func @nibbles(%a: memref<4xi4>) attributes {llvm.emit_c_interface} { return }
  func.func @copy_f8(%a: memref<4xf8E4M3FN>, %b: memref<4xf8E4M3FN>, %x: f8E5M2) -> f8E5M2
      attributes {llvm.emit_c_interface} {
    memref.copy %a, %b : memref<4xf8E4M3FN> to memref<4xf8E4M3FN>
    return %x : f8E5M2
  }
  func.func @complex(%a: complex<f32>) attributes {llvm.emit_c_interface} { return }
}
"""


@pytest.fixture(scope="module")
def host() -> Executable:
    return host_programs.compile_text(HOST)


@pytest.fixture
def call(host: Executable, fake):
    def invoke(name: str, *arguments: Any) -> Any:
        return host.invoke(name, *arguments, device="cuda")

    return invoke


def test_strides_are_honoured(call) -> None:
    whole = np.arange(96, dtype=np.float32).reshape(8, 12)
    view = whole[::2, 1::3]
    for i in range(4):
        for j in range(view.shape[1]):
            assert call("first", view, i, j) == view[i, j]
    assert call("first", whole[7:3:-1, ::-1], 1, 2) == whole[6, 9]
    assert call("first", whole.T[:4], 3, 5) == whole[5, 3]


def test_a_static_offset_is_applied_once(call) -> None:
    whole = np.arange(20, dtype=np.float32)
    view = whole[3:11:2]
    assert [call("offset", view, i) for i in range(4)] == [3, 5, 7, 9]


def test_zero_dimensions_and_unranked_memrefs(call) -> None:
    assert call("zero_d", np.array(2.5)) == 2.5
    assert call("unranked", np.zeros((2, 3, 4), np.float32)) == 3


def test_scalars_of_every_width(call) -> None:
    assert call("scalars", True, -3, 1 << 40, 0.5, 0.25, np.int32(7)) == (1 << 40) + 5.75
    assert call("scalars", np.bool_(False), 0, 0, 0, 0, 0) == 0
    assert call("answer") == 42
    assert call("is_even", 4) is True
    assert call("is_even", 3) is False


def test_bf16_comes_from_ml_dtypes(call) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.zeros(2, ml_dtypes.bfloat16)
    call("bf", array, 1.5)
    assert array.tolist() == [0.0, 1.5]
    call("bf", np.zeros(2, "V2"), 1.5)


def test_f8_comes_from_ml_dtypes(call) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.array([1, 2, -3, 0.5], ml_dtypes.float8_e4m3fn)
    b = np.zeros_like(a)
    assert call("copy_f8", a, b, 1.5) == 1.5
    assert b.tolist() == [1, 2, -3, 0.5]
    with pytest.raises(TypeError, match="must have element type f8E4M3FN"):
        call("copy_f8", a.astype(ml_dtypes.float8_e5m2), b, 1.5)


def test_torch_tensors_on_the_host_are_taken(call) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    whole = torch.arange(96.0).reshape(8, 12)
    assert call("first", whole[::2, 1:], 1, 2) == 27.0
    array = torch.zeros(2, dtype=torch.bfloat16)
    call("bf", array, 1.5)
    assert array.tolist() == [0.0, 1.5]
    with pytest.raises(TypeError, match="argument 0 of 'first' cannot be passed"):
        call("first", whole[:4].requires_grad_(), 1, 2)


def test_an_extent_of_1_may_have_any_stride(call) -> None:
    whole = np.arange(48, dtype=np.int32).reshape(6, 8)
    assert [call("rows", whole[2::5], 0, j) for j in range(8)] == whole[2].tolist()
    with pytest.raises(ValueError, match="must have stride 8 in dimension 0"):
        call("rows", whole[::5], 0, 0)  # the control: two rows, so far apart


def test_unsigned_arrays_are_the_same_bits(call) -> None:
    given = np.array([np.arange(8), np.arange(8) + 0x80000000, 0xFFFFFFFF - np.arange(8)])
    given = given.astype(np.uint32)
    for i in range(3):
        for j in range(8):
            assert call("rows", given, i, j) & 0xFFFFFFFF == given[i, j]


def test_arrays_with_dlpack_are_taken(call) -> None:
    class Foreign:
        def __init__(self) -> None:
            self.array = np.array(3.5)

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    assert call("zero_d", Foreign()) == 3.5


READ_ONLY = np.zeros((4, 8), np.float16)
READ_ONLY.flags.writeable = False

WRONG: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("plain", (), TypeError, r"'plain' takes 1 arguments (memref<4x8xf16>), got 0"),
    (
        "plain",
        (np.zeros((4, 8), np.float32),),
        TypeError,
        "argument 0 of 'plain' must have element type f16, as memref<4x8xf16> does, got float32",
    ),
    (
        "plain",
        (np.zeros((4, 9), np.float16),),
        ValueError,
        "argument 0 of 'plain' must have shape 4x8, as memref<4x8xf16> does, got 4x9",
    ),
    ("plain", (np.zeros(32, np.float16),), ValueError, "must have shape 4x8"),
    ("rows", (np.zeros((4, 9), np.int32), 0, 0), ValueError, "must have shape ?x8"),
    (
        "plain",
        (np.zeros((4, 16), np.float16)[:, ::2],),
        ValueError,
        "argument 0 of 'plain' must have stride 8 in dimension 0",
    ),
    ("plain", (np.zeros((8, 4), np.float16).T,), ValueError, "must have stride 8 in dimension 0"),
    ("padded", (np.zeros((2, 4), np.float32),), ValueError, "must have stride 16 in dimension 0"),
    ("plain", (READ_ONLY,), ValueError, "argument 0 of 'plain' must be writeable"),
    ("plain", ([1, 2],), TypeError, "must be a NumPy array for memref<4x8xf16>, got list [1, 2]"),
    ("plain", (np.zeros((4, 8), ">f2"),), TypeError, "must have element type f16"),
    (
        "first",
        (np.zeros((4, 4), "f4,i2")["f0"], 0, 0),
        ValueError,
        "must have strides of whole elements (4 bytes), got 6 bytes in dimension 1",
    ),
    ("first", (np.zeros((4, 4), np.float32), 1.5, 0), TypeError, "argument 1 of 'first' must be"),
    ("scalars", (2, 0, 0, 0, 0, 0), ValueError, "argument 0 of 'scalars' must be from 0 to 1"),
    ("scalars", (0, 256, 0, 0, 0, 0), ValueError, "must be from -128 to 255, got 256"),
    ("scalars", (0, 0, 0, "x", 0, 0), TypeError, "argument 3 of 'scalars' must be a number"),
    ("any_rank", (), TypeError, "it returns memref<*xf32>; pass memrefs as arguments"),
    ("complex", (1j,), TypeError, "argument 0 has type complex<f32>"),
    (
        "nibbles",
        (np.zeros(4, np.int8),),
        TypeError,
        "has type memref<4xi4>, and no array has integ",
    ),
    (
        "zero_d",
        (np.zeros(9, np.uint8)[1:].view(np.float64).reshape(()),),
        ValueError,
        "argument 0 of 'zero_d' must be aligned to its elements",
    ),
    ("nothing", (), ValueError, "no host function 'nothing' with llvm.emit_c_interface, have: "),
]


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "text"), WRONG, ids=[f"{w[0]}-{i}" for i, w in enumerate(WRONG)]
)
def test_wrong_arguments_are_named_before_anything_runs(
    name: str, arguments: tuple[Any, ...], kind: type[Exception], text: str, call, fake
) -> None:
    fake.clear_log()
    with pytest.raises(kind) as caught:
        call(name, *arguments)
    assert text in str(caught.value)
    assert fake.log() == []


def test_signatures_can_be_given_as_text() -> None:
    signature = Signature.of("f", ["memref<4x?xf16, strided<[?, 1], offset: ?>>", "index", "f32"])
    assert str(signature.arguments[0]) == "memref<4x?xf16, strided<[?, 1], offset: ?>>"
    assert str(signature.arguments[1]) == "index"
    assert signature.result is None


@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
def test_host_code_copies_memrefs_of_any_strides(element: str) -> None:
    """By the run-time library: MLIR's, which defines the same, need not be installed."""
    import mlir_tile as mt

    any_ = f"memref<?x?x{element}, strided<[?, ?], offset: ?>>"
    text = f"""
    func.func @main(%a: {any_}, %b: {any_}) attributes {{llvm.emit_c_interface}} {{
      memref.copy %a, %b : {any_} to {any_}
      return
    }}
    func.func @zero_d(%a: memref<{element}, strided<[], offset: ?>>, %b: memref<{element}>)
        attributes {{llvm.emit_c_interface}} {{
      memref.copy %a, %b : memref<{element}, strided<[], offset: ?>> to memref<{element}>
      return
    }}
    """
    with mt.context():
        program = mt.compile(mt.parse(text))
    dtype = {"i8": np.int8, "f32": np.float32, "f64": np.float64}[element]
    given = np.arange(1, 97).reshape(8, 12).astype(dtype)
    for view in (np.s_[:, :], np.s_[2:5, 3:9], np.s_[::-1, ::2], np.s_[:0, :], np.s_[7:, 11:]):
        a = given[view]
        for b in (np.zeros(a.shape, dtype), np.zeros(a.shape[::-1], dtype).T):
            program.invoke("main", a, b, device="emulator")
            assert np.array_equal(a, b)
    made = np.zeros((8, 12), dtype)
    program.invoke("main", given[::2, 1::3], made[1::2, ::3], device="emulator")
    expected = np.zeros((8, 12), dtype)
    expected[1::2, ::3] = given[::2, 1::3]
    assert np.array_equal(made, expected)
    one = np.zeros((), dtype)
    program.invoke("zero_d", given[3, 4:5].reshape(()), one, device="emulator")
    assert one == given[3, 4]


def test_copies_load_no_library_of_mlirs() -> None:
    import mlir_tile as mt

    strided = "memref<4xf32, strided<[2]>>"
    with mt.context():
        program = mt.compile(
            mt.parse(f"""
            func.func @main(%a: {strided}, %b: {strided}) attributes {{llvm.emit_c_interface}} {{
              memref.copy %a, %b : {strided} to {strided}
              return
            }}
        """)
        )
    assert executable._runner_libraries(program._module) == []


def test_host_code_that_cannot_be_compiled_says_why(fake) -> None:
    from mlir import ir

    from mlir_tile.errors import CompileError

    with ir.Context():
        module = ir.Module.parse("func.func @main() attributes {llvm.emit_c_interface} { return }")
        program = Executable(module, {}, {"main": []})
        with pytest.raises(CompileError, match="host code: error: cannot be compiled") as caught:
            program.invoke("main", device="cuda")
        assert caught.value.diagnostics
