# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong calls of what compiles and builds: the error names the argument."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mlir import ir
from mlir.dialects import arith
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile import builders, scripted
from mlir_tile.dialects.tile import LayoutAttr

EMPTY = "func.func @f() attributes {llvm.emit_c_interface} { return }"


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with mt.context(), ir.Location.unknown():
        yield mt.parse(EMPTY)


CALLS: list[Callable[..., object]] = [lambda m, **o: mt.lower(m, "ptx", **o), mt.compile]

WRONG_OPTIONS: list[tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = [
    ({"chip": "sm_90"}, {"chip": None}, TypeError, "chip must be a str, got None"),
    ({"features": "+ptx81"}, {"features": 81}, TypeError, "features must be a str, got 81"),
    (
        {"opt_level": np.int64(3)},
        {"opt_level": "3"},
        TypeError,
        "opt_level must be an int, got '3'",
    ),
    ({"opt_level": 1}, {"opt_level": True}, TypeError, "opt_level must be an int, got True"),
    ({"opt_level": 0}, {"opt_level": -1}, ValueError, "opt-level must be in 0 to 3, got -1"),
    ({"line_info": True}, {"line_info": "no"}, TypeError, "line_info must be True or False, got"),
]


@pytest.mark.parametrize(("right", "wrong", "kind", "text"), WRONG_OPTIONS)
@pytest.mark.parametrize("call", CALLS, ids=["lower", "compile"])
def test_options_of_a_wrong_type_are_named(
    call: Callable[..., object],
    right: dict[str, Any],
    wrong: dict[str, Any],
    kind: type[Exception],
    text: str,
    module: ir.Module,
    capfd: pytest.CaptureFixture[str],
) -> None:
    call(module, **right)
    with pytest.raises(kind) as caught:
        call(module, **wrong)
    assert text in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_remarks_is_a_truth_value(module: ir.Module) -> None:
    mt.lower(module, "analyze", remarks=True)
    with pytest.raises(TypeError, match="remarks must be True or False, got 1"):
        mt.lower(module, "analyze", remarks=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", CALLS, ids=["lower", "compile"])
def test_a_module_is_one_of_mlirs(call: Callable[..., object], module: ir.Module) -> None:
    for right in (module, module.operation, module.operation.opview, mt.lower(module, "analyze")):
        call(right)
    for wrong, text in [
        (None, "got None"),
        (module.body.operations[0], "got the op 'func.func'"),
        # `compile` takes text as well.
        *([("x", "got 'x'")] if call is CALLS[0] else []),
    ]:
        with pytest.raises(TypeError, match=f"module must be an ir.Module, {text}"):
            call(wrong)


def test_what_lower_returns_becomes_a_module_as_its_text_says(module: ir.Module) -> None:
    lowered = mt.lower(module, "ptx")
    assert not isinstance(lowered, ir.Module)
    engine = ExecutionEngine(ir.Module.parse(str(lowered)))
    assert engine.raw_lookup("_mlir_ciface_f")


NESTED = """
module OUTER {
  module attributes {gpu.container_module} {
    gpu.module @kernels { gpu.func @k() kernel { gpu.return } }
  }
}
"""


@pytest.mark.parametrize("call", CALLS, ids=["lower", "compile"])
def test_a_gpu_module_in_a_nested_module_is_not_left_out_silently(
    call: Callable[..., object],
) -> None:
    with mt.context():
        inner = NESTED.replace("module OUTER {", "", 1).rpartition("}")[0]
        call(mt.parse(inner))
        with pytest.raises(mt.CompileError) as caught:
            call(mt.parse(NESTED.replace("OUTER", "@outer")))
    error, note = caught.value.diagnostics
    assert error == (
        "-:4:5: error: 'gpu.module' op \"kernels\" must be in the outermost module to be "
        "compiled, got one in 'builtin.module'"
    )
    assert note.startswith("-:4:5: note: move it")


BUILT: list[tuple[Callable[[], object], Callable[[], object], type[Exception], str]] = [
    (
        lambda: builders.barrier_group(1),
        lambda: builders.barrier_group(-1),
        ValueError,
        "count must be in 1 to 4294967295, got -1",
    ),
    (
        lambda: builders.barrier_group(np.int64(2)),  # type: ignore[arg-type]
        lambda: builders.barrier_group(0),
        ValueError,
        "count must be in 1 to 4294967295, got 0",
    ),
    (
        lambda: builders.barrier_group(),
        lambda: builders.barrier_group(1.0),  # type: ignore[arg-type]
        TypeError,
        "count must be an int, got 1.0",
    ),
    (
        lambda: mt.PipelineState.consumer(2),
        lambda: mt.PipelineState.consumer(2.0),  # type: ignore[arg-type]
        TypeError,
        "stages must be an int, got 2.0",
    ),
    (
        lambda: mt.PipelineState.producer(1),
        lambda: mt.PipelineState.producer("2"),  # type: ignore[arg-type]
        TypeError,
        "stages must be an int, got '2'",
    ),
    (
        lambda: mt.PipelineState.consumer(1),
        lambda: mt.PipelineState.consumer(0),
        ValueError,
        "stages must be at least 1, got 0",
    ),
    (
        lambda: mt.PipelineState.consumer(2, 1),
        lambda: mt.PipelineState.consumer(2, 1.0),  # type: ignore[arg-type]
        TypeError,
        "barriers must be an int or None, got 1.0",
    ),
    (
        lambda: builders.launch(("kernels", "k"), [], grid=builders.index(2), block=32),
        lambda: builders.launch(("kernels", "k"), [], grid="2", block=32),  # type: ignore[arg-type]
        TypeError,
        "grid must be an int, an index value or a tuple of three, got '2'",
    ),
    (
        lambda: builders.launch(
            ("kernels", "k"), [], grid=arith.ConstantOp(ir.IndexType.get(), 2), block=(32, 1, 1)
        ),
        lambda: builders.launch(("kernels", "k"), [], grid=2, block=(32, 1)),  # type: ignore[arg-type]
        ValueError,
        "block must be one extent or a tuple of three, got (32, 1)",
    ),
    (
        lambda: LayoutAttr.get([np.int64(8), (2, np.int8(4))], [np.int64(1), (8, 16)]),
        lambda: LayoutAttr.get([8.0], [1]),
        TypeError,
        "shape must be ints, or sequences of ints, by dimension, got 8.0",
    ),
    (
        lambda: LayoutAttr.get(np.array([8, 4]), np.array([1, 8])),  # type: ignore[arg-type]
        lambda: LayoutAttr.get([8], [None]),
        TypeError,
        "stride must be ints, or sequences of ints, by dimension, got None",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "kind", "text"), BUILT, ids=[b[3] for b in BUILT])
def test_what_is_built_of_wrong_numbers_is_named_before_any_op_is_made(
    right: Callable[[], object],
    wrong: Callable[[], object],
    kind: type[Exception],
    text: str,
    module: ir.Module,
) -> None:
    with ir.InsertionPoint.at_block_begin(module.body):
        right()
        before = str(module)
        with pytest.raises(kind) as caught:
            wrong()
    assert text in str(caught.value)
    assert str(module) == before


@pytest.mark.parametrize(
    ("block", "kind", "text"),
    [
        ("32", TypeError, "block must be an int, got '32'"),
        (0, ValueError, "block must be at least 1, got 0"),
        ((32, 1), ValueError, r"block must be one extent or a tuple of three, got \(32, 1\)"),
    ],
)
def test_a_kernel_has_sizes(
    block: Any, kind: type[Exception], text: str, module: ir.Module
) -> None:
    before = str(module)
    with (
        pytest.raises(kind, match=text),
        builders.kernel(module, "k", [], block=block, cluster=1),
    ):
        pass
    assert str(module) == before
    with builders.kernel(module, "k", [], block=np.int64(32), cluster=1) as kernel:  # type: ignore[arg-type]
        assert kernel.block == (32, 1, 1)


def test_numbers_of_layouts_are_those_given() -> None:
    with mt.context():
        made = LayoutAttr.get(np.array([8, 4]), [np.int64(1), 8], offset=3, swizzle=(1, 2, 3))  # type: ignore[arg-type]
        assert made == LayoutAttr.get([8, 4], [1, 8], 3, (1, 2, 3))
        assert (made.shape, made.stride) == ((8, 4), (1, 8))


def test_names_that_no_pipeline_can_say_are_refused() -> None:
    for name in ("p one", "", "a,b", "a{b}", "a(b)", "ä"):
        for register in (
            lambda name: scripted.register_pass(name, "d"),
            lambda name: scripted.register_pipeline(name, "d", []),
            lambda name: scripted.register_pipeline("x", "d", [(name, "d", "")]),
        ):
            with pytest.raises(ValueError, match=r"^(argument|options) must"):
                register(name)
    with pytest.raises(TypeError, match="argument must be a str, got 3"):
        scripted.register_pass(3, "d")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="description must be a str, got None"):
        scripted.register_pass("p", None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"options must be triples of text, got \('a', 'b', 3\)"):
        scripted.register_pipeline("x", "d", [("a", "b", 3)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="options must have different names"):
        scripted.register_pipeline("x", "d", [("a", "b", "")] * 2)


@pytest.mark.parametrize("name", ["canonicalize", "tile-legalize-to-nvvm", "tile-to-binary"])
def test_names_that_are_taken_are_refused(name: str) -> None:
    def nothing(*values: object) -> str:
        return ""

    with pytest.raises(ValueError, match=f"argument must be a new name, got '{name}'"):
        scripted.register_pass(name, "d")(nothing)
    with pytest.raises(ValueError, match=f"argument must be a new name, got '{name}'"):
        scripted.register_pipeline(name, "d", [])(nothing)
    with mt.context():
        PassManager.parse(f"any({name})")


def test_a_pass_that_is_registered_again_is_the_later_one(module: ir.Module) -> None:
    ran: list[str] = []
    for what in "first", "second":
        scripted.register_pass("test-again", "d")(lambda op, what=what: ran.append(what))
        PassManager.parse("builtin.module(test-again)").run(module.operation)
    assert ran == ["first", "second"]


def test_a_pipeline_that_is_registered_again_is_the_later_one(module: ir.Module) -> None:
    options = [("to", "d", "cse")]
    scripted.register_pipeline("test-again-too", "d", options)(lambda to: "canonicalize")
    assert "canonicalize" in str(PassManager.parse("builtin.module(test-again-too)"))
    scripted.register_pipeline("test-again-too", "d", options)(lambda to: to)
    assert "cse" in str(PassManager.parse("builtin.module(test-again-too)"))
    with pytest.raises(ValueError, match="options must be those that 'test-again-too' was"):
        scripted.register_pipeline("test-again-too", "d", [])(lambda: "cse")
    scripted.register_pipeline("test-again-too", "d", options)(lambda to: None)
    with pytest.raises(ValueError, match="'test-again-too' must return the text of a pipeline"):
        PassManager.parse("builtin.module(test-again-too)")


def test_what_cannot_be_read_on_the_path_names_no_entry_points(tmp_path: Path) -> None:
    (tmp_path / "odd-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    broken = tmp_path / "zbroken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: zbroken\nVersion: 1.0\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mlir_tile; print('imported')"

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=600
        )

    assert (run().stdout, run().stderr) == ("imported\n", "")
    # The control: what can be read beside it is still found.
    (broken / "entry_points.txt").write_text("[mlir_tile.variants]\nx = no_such_module\n")
    done = run()
    assert done.stdout == "imported\n"
    assert "cannot load the variants of no_such_module" in done.stderr
