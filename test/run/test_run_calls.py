# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong calls of programs and kernels: the error names the argument, and nothing runs before it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import host_programs
import kernel_programs
import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.runtime.executable import Executable


@pytest.fixture(scope="module")
def program() -> Executable:
    return host_programs.compile_text(host_programs.FILL)


def take(name: str = "ranks", **options: Any) -> Any:
    return kernel_programs.executable().kernel("kernels", name, **options)


RIGHT: list[dict[str, Any]] = [
    {"timeout": 30},
    {"timeout": np.float32(30.0)},
    {"schedule": "late"},
    {"schedule": "random:3", "checks": "strict"},
]

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"timeout": "x"}, TypeError, "timeout must be a number of seconds, got 'x'"),
    ({"timeout": True}, TypeError, "timeout must be a number of seconds, got True"),
    ({"timeout": -1}, ValueError, "timeout must be a positive number of seconds, got -1"),
    ({"timeout": 0}, ValueError, "timeout must be a positive number of seconds, got 0"),
    ({"timeout": float("nan")}, ValueError, "timeout must be a positive number of seconds"),
    ({"schedule": "x"}, ValueError, "schedule must be eager, late, random:SEED or explore:N"),
    ({"schedule": 3}, TypeError, "schedule must be a str, got 3"),
    ({"checks": "lax"}, ValueError, "checks must be off, default or strict, and ,-KIND"),
    ({"checks": 1}, TypeError, "checks must be a str, got 1"),
]


@pytest.mark.parametrize("options", RIGHT, ids=str)
def test_what_is_right_runs(options: dict[str, Any], program: Executable) -> None:
    given, out = np.zeros(64, np.float32), np.zeros(4, np.int32)
    program.invoke("main", given, 2.0, device="emulator", **options)
    assert (given == 2).all()
    take(device="emulator", **options)[4, 1, 4](out)
    assert out.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("options", "kind", "text"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_what_is_wrong_is_named(
    options: dict[str, Any], kind: type[Exception], text: str, program: Executable
) -> None:
    given = np.zeros(64, np.float32)
    calls: list[Callable[[], object]] = [
        lambda: program.invoke("main", given, 2.0, device="emulator", **options),
        lambda: take(device="emulator", **options),
        lambda: take(**options),
    ]
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert type(caught.value) is kind
        assert text in str(caught.value)
    assert (given == 0).all()


def test_a_launch_needs_its_grid() -> None:
    kernel, out = take(device="emulator"), np.zeros(4, np.int32)
    kernel[4](out)
    with pytest.raises(TypeError, match=r"kernel 'ranks' must be launched as kernel\[grid, .*\]"):
        kernel(out)
    for grid in (2.5, "2", None, ((1, 2.5),)):
        with pytest.raises(TypeError, match="grid"):
            kernel[grid]
    with pytest.raises(TypeError, match="grid must be an int or a tuple of up to three, got True"):
        take("nothing", device="emulator")[True, 1]
    with pytest.raises(TypeError, match=r"smem must be an int, got 1\.5"):
        kernel[4, 1, None, 1.5]


TWO = """
gpu.module @kernels {
  gpu.func @two() kernel attributes {known_block_size = array<i32: 32, 1, 1>CLUSTER} {
    gpu.return
  }
}
"""


@pytest.mark.parametrize(
    ("known", "cluster", "text"),
    [
        (", known_cluster_size = array<i32: 2, 1, 1>", None, "cluster 2x1x1"),
        (", known_cluster_size = array<i32: 2, 1, 1>", 4, "cluster 4x1x1"),
        ("", None, "cluster 1x1x1"),
        ("", 4, "cluster 4x1x1"),
    ],
)
def test_a_refused_launch_has_the_cluster_that_it_would_have(
    known: str, cluster: int | None, text: str
) -> None:
    with mt.context():
        program = mt.compile(mt.parse(TWO.replace("CLUSTER", known)))
    kernel = program.kernel("kernels", "two", device="emulator")
    kernel[4, 32, 2 if known else cluster]()
    with pytest.raises(mt.LaunchError, match=text) as caught:
        kernel[4, 64, cluster]
    assert caught.value.launch is not None
    assert text.endswith("x".join(map(str, caught.value.launch.cluster)))


OUTLINED = """
func.func @main() attributes {llvm.emit_c_interface} {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
      threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    gpu.terminator
  }
  return
}
gpu.module @kernels { gpu.func @own() kernel { gpu.return } }
"""


def test_a_kernel_of_a_gpu_launch_says_why_it_is_none() -> None:
    with mt.context():
        program = mt.compile(mt.parse(OUTLINED))
    assert set(program.ptx) == {"kernels", "main_kernel"}
    program.main(device="emulator")
    program.kernel("kernels", "own", device="emulator")[1, 1]()
    with pytest.raises(
        ValueError,
        match=r"no kernel 'main_kernel.main_kernel', have: kernels.own"
        "; 'main_kernel' was outlined from a gpu.launch, for host functions only",
    ):
        program.kernel("main_kernel", "main_kernel")
    with pytest.raises(ValueError, match=r"no kernel 'kernels\.main', have: kernels\.own$"):
        program.kernel("kernels", "main")


DECLARED = """
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
func.func @main(%a: memref<2xi32>) -> i32 attributes {llvm.emit_c_interface} {
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c1] : memref<2xi32>
  return %x : i32
}
"""


def test_a_declaration_is_no_host_function() -> None:
    with mt.context():
        program = mt.compile(mt.parse(DECLARED))
    assert list(program.signatures) == ["main"]
    assert program.main(np.array([3, 4], np.int32), device="emulator") == 4
    with pytest.raises(ValueError, match=r"no host function 'printMemrefI32' .* have: main$"):
        program.invoke("printMemrefI32", np.zeros(2, np.int32), device="emulator")


FLOATS = """
func.func @half(%x: f16) -> f16 attributes {llvm.emit_c_interface} { return %x : f16 }
func.func @single(%x: f32) -> f32 attributes {llvm.emit_c_interface} { return %x : f32 }
func.func @double(%x: f64) -> f64 attributes {llvm.emit_c_interface} { return %x : f64 }
"""
LARGEST = {"half": 65504.0, "single": float(np.finfo(np.float32).max), "double": 1.7e308}


@pytest.mark.parametrize("name", LARGEST)
def test_a_number_that_its_float_type_cannot_hold_is_refused(name: str) -> None:
    with mt.context():
        program = mt.compile(mt.parse(FLOATS))
    inf = float("inf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (0.5, LARGEST[name], -LARGEST[name], inf, -inf):
            assert program.invoke(name, value, device="emulator") == value
        assert np.isnan(program.invoke(name, float("nan"), device="emulator"))
        beyond = [10**400, -(10**400)] if name == "double" else [LARGEST[name] * 1.01, -1e300]
        for value in beyond:
            with pytest.raises(ValueError, match=rf"argument 0 of '{name}' must be in the range"):
                program.invoke(name, value, device="emulator")


def test_a_host_function_may_not_be_named_as_the_runtime_is() -> None:
    """The engine would have two of them, and ends the process."""
    text = (
        "func.func @NAME(%n: i64) -> i64 { return %n : i64 }\n"
        "func.func @main() -> i64 attributes {llvm.emit_c_interface} {\n"
        "  %n = arith.constant 3 : i64\n"
        "  %m = call @NAME(%n) : (i64) -> i64\n  return %m : i64\n}\n"
    )
    assert host_programs.compile_text(text.replace("NAME", "mallow")).invoke("main") == 3
    for name in ("malloc", "free", "mgpuLaunchKernel"):
        executable = host_programs.compile_text(text.replace("NAME", name))
        with pytest.raises(mt.CompileError, match=f"'{name}' has the name of a function of"):
            executable.invoke("main")
