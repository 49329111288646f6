# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mt.parse`, `mt.lower` and `mt.compile`: what they return, and that they fail in one way."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from mlir import ir

import mlir_tile as mt

GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
TILE = "memref<{extent}xf32, #gpu.address_space<workgroup>>"


def program(extent: int = 16, source: str = "copy.mlir", line: int = 7) -> str:
    """Return a module whose one copy is of `extent` elements and stands at `source:line:3`."""
    tile = TILE.format(extent=extent)
    return f"""
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @send(%rank: i32) workgroup(%src: {tile}, %dst: {tile}) kernel {{
      %c0 = arith.constant 0 : index
      %bars = nvgpu.mbarrier.create -> {GROUP}
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0])
          : {tile} to {tile}, {GROUP} loc("{source}":{line}:3)
      gpu.return
    }}
  }}
}}
"""


@pytest.fixture(autouse=True)
def context() -> Iterator[ir.Context]:
    with mt.context() as made:
        yield made


def test_parse_returns_a_module() -> None:
    assert isinstance(mt.parse(program()), ir.Module)


def test_text_that_is_no_ir_is_a_compile_error() -> None:
    with pytest.raises(mt.CompileError, match=r"custom op 'tile\.copy' is unknown") as raised:
        mt.parse("tile.copy %src")
    assert raised.value.diagnostics
    assert ":1:1: error: " in raised.value.diagnostics[0]


def test_ir_that_does_not_verify_is_a_compile_error_at_its_place() -> None:
    text = program().replace("mbarrier(%bars[%c0])", 'mbarrier(%bars[%c0]) {variant = "none"}')
    with pytest.raises(mt.CompileError) as raised:
        mt.parse(text)
    assert raised.value.diagnostics[0] == (
        "copy.mlir:7:3: error: 'tile.copy_async' op variant must be one of bulk, st_async, "
        'got "none"'
    )


def test_lower_leaves_the_module_as_it_is() -> None:
    module = mt.parse(program())
    before = str(module)
    lowered = mt.lower(module, "legalize")
    assert str(module) == before
    assert "tile.copy_async" in before
    assert "nvvm.cp.async.bulk.shared.cluster.shared.cta" in str(lowered)


def test_each_stage_leaves_what_its_name_says() -> None:
    module = mt.parse(program())
    assert "#tile.copy_plan<bulk, chunk = 64, " in str(mt.lower(module, "analyze"))
    legalized = str(mt.lower(module, "legalize"))
    assert "tile.copy_async" not in legalized
    assert "nvvm.mapa" in legalized


def test_a_refused_layout_is_a_compile_error_with_the_fix() -> None:
    with pytest.raises(mt.CompileError) as raised:
        mt.lower(mt.parse(program(extent=17)), "analyze")
    first, *_, fix, other = raised.value.diagnostics
    assert first == (
        "copy.mlir:7:3: error: 'tile.copy_async' op cannot be cut into bulk copies: the longest run"
        " common to both layouts is 68 bytes, it must be a multiple of 16 bytes"
    )
    assert fix == "copy.mlir:7:3: note: choose layouts that agree on runs of a multiple of 16 bytes"
    assert other == (
        "copy.mlir:7:3: note: issue(warp) with a known block size would copy it by st_async"
    )
    assert str(raised.value) == "\n".join(raised.value.diagnostics)
    assert isinstance(raised.value, mt.Error)


def test_a_diagnostic_has_its_severity_and_place_as_values_also_in_another_process() -> None:
    with pytest.raises(mt.CompileError) as raised:
        mt.lower(mt.parse(program(extent=17)), "analyze")
    sent = pickle.loads(pickle.dumps(raised.value))
    assert str(sent) == str(raised.value)
    for first, *_, last in (raised.value.diagnostics, sent.diagnostics):
        assert (first.severity, last.severity) == ("error", "note")
        assert (first.file, first.line, first.column) == ("copy.mlir", 7, 3)


def test_a_diagnostic_without_a_place_in_a_file_has_none() -> None:
    text = program().replace('loc("copy.mlir":7:3)', 'loc("by hand")')
    with pytest.raises(mt.CompileError) as raised:
        mt.lower(mt.parse(text.replace("16xf32", "17xf32")), "analyze")
    first = raised.value.diagnostics[0]
    assert first.startswith('"by hand": error: ')
    assert (first.severity, first.file, first.line, first.column) == ("error", "", 0, 0)


@pytest.mark.parametrize("call", ["lower", "compile"])
def test_nothing_is_printed_where_something_is_raised(
    call: str, capfd: pytest.CaptureFixture[str]
) -> None:
    module = mt.parse(program(extent=17))
    with pytest.raises(mt.CompileError):
        if call == "lower":
            mt.lower(module, "legalize")
        else:
            mt.compile(module)
    assert capfd.readouterr() == ("", "")


def test_a_stage_that_does_not_exist_is_a_value_error() -> None:
    with pytest.raises(
        ValueError, match="to must be one of analyze, legalize, nvvm, ptx, cubin, fatbin"
    ):
        mt.lower(mt.parse(program()), "verify")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chip": "sm_80"}, "set chip to sm_90"),
        ({"features": "+ptx78"}, "needs 8.0"),
        ({"opt_level": 4}, "opt-level must be in 0 to 3, got 4"),
    ],
)
@pytest.mark.parametrize("call", [lambda m, **o: mt.lower(m, "analyze", **o), mt.compile])
def test_a_wrong_option_is_a_value_error(
    call: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(mt.parse(program()), **options)  # type: ignore[operator]


def test_several_threads_compile_at_once() -> None:
    def ptx(extent: int) -> str:
        with mt.context():
            return mt.compile(mt.parse(program(extent))).ptx["kernels"]

    extents = [16, 32, 64, 128] * 3
    unarmed = pytest.warns(mt.CompileWarning)
    with unarmed, ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(ptx, extents))
    assert len(set(texts)) == 4
    assert texts == texts[:4] * 3
    assert all(text.count("cp.async.bulk") == 1 for text in texts)


def with_text(literal: str) -> str:
    return f'func.func @f() {{\n  %c = arith.constant {{x.y = "{literal}"}} 1 : i32\n  return\n}}'


@pytest.mark.parametrize(
    ("literal", "is_right"),
    [
        ("\\C3\\A9", True),
        ("é", True),
        ("\\\\FF", True),
        ("\\FF", False),
        ("\\C3", False),
        ('\\"\\e9', False),
    ],
)
def test_text_that_is_not_utf8_is_refused_at_its_place(literal: str, is_right: bool) -> None:
    given = with_text(literal)
    with mt.context() as context:
        context.allow_unregistered_dialects = True
        assert mt.parse(f'// "{literal}"\nmodule {{}}')
        if is_right:
            assert mt.parse(given)
            return
        with pytest.raises(mt.CompileError) as caught:
            mt.parse(given)
        text = f'text in a module must be UTF-8, got "{literal}"'
        assert caught.value.diagnostics == [f"-:2:30: error: {text}"]
        content = io.BytesIO()
        ir.Module.parse(given).operation.write_bytecode(content)
        with pytest.raises(mt.CompileError, match="-: error: text in a module must be UTF-8"):
            mt.parse(content.getvalue())


def test_bytes_that_are_not_utf8_are_refused_in_text_alone() -> None:
    with mt.context():
        assert mt.parse(b"// caf\xe9\nmodule {}")
        with pytest.raises(mt.CompileError, match=r'^-:1:15: error: .*, got "\\xe9"$'):
            mt.parse(b'module {} loc("\xe9")')


def test_a_number_of_very_many_digits_is_refused_at_its_place() -> None:
    def constant(digits: str) -> str:
        return f"func.func @f() {{\n  %c = arith.constant {digits} : i8000\n  return\n}}"

    with mt.context():
        assert mt.parse(constant("1" * 1000))
        assert mt.parse(f"// {'1' * 1001}\nmodule {{}}")
        assert mt.parse(f'module attributes {{llvm.x = "{"1" * 1001}"}} {{}}')
        with pytest.raises(mt.CompileError) as caught:
            mt.parse(constant("1" * 1001))
    text = "number must have at most 1000 digits, got 1001"
    assert str(caught.value) == f"-:2:23: error: {text}"


@pytest.mark.parametrize("name", ["memref.global", "generic"])
def test_a_symbol_with_a_zero_byte_is_refused(name: str) -> None:
    """A string of other use may have one."""

    def declared(symbol: str) -> str:
        if name == "generic":
            return f'"memref.global"() {{sym_name = "{symbol}", type = memref<4xi8>}} : () -> ()'
        return f'memref.global @"{symbol}" : memref<4xi8>'

    with mt.context():
        assert mt.parse(declared("ab"))
        assert mt.parse('llvm.mlir.global internal @text("a\\00b")')
        with pytest.raises(mt.CompileError) as caught:
            mt.parse(declared("a\\00b"))
    column = 31 if name == "generic" else 16
    assert str(caught.value) == f'-:1:{column}: error: symbol must have no zero byte, got "a\\00b"'
