# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument forms of tile-run, and how --expect compares arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlir_tile.runtime.dtypes import dtype_of, element_dtypes
from tile_emulator import Error, arguments
from tile_emulator.arguments import TYPES, compare


def parse_argument(text: str) -> Any:
    """Return what tile-run takes `text` for."""
    return arguments.parse_argument(text, TYPES | element_dtypes())


@pytest.mark.parametrize("element", element_dtypes())
@pytest.mark.parametrize("form", ["zeros", "iota", "random", "random:7"])
def test_every_element_type_has_every_form(form: str, element: str) -> None:
    array = parse_argument(f"{form}:3x5x{element}")
    assert isinstance(array, np.ndarray)
    assert (array.shape, array.dtype) == ((3, 5), dtype_of(element))
    assert array.flags.writeable


def test_iota_counts_in_row_major_order() -> None:
    np.testing.assert_array_equal(
        parse_argument("iota:2x3xf32"), np.arange(6, dtype=np.float32).reshape(2, 3)
    )


@pytest.mark.parametrize(("element", "period"), [("f16", 2048), ("bf16", 256), ("i8", 256)])
def test_iota_holds_exact_values(element: str, period: int) -> None:
    if element == "bf16":
        pytest.importorskip("ml_dtypes")
    array = np.asarray(parse_argument(f"iota:{2 * period}x{element}")).astype(np.int64)
    np.testing.assert_array_equal(array[:period] % period, np.arange(period))
    np.testing.assert_array_equal(array[:period], array[period:])


def test_random_is_the_same_for_the_same_seed() -> None:
    first, again, other = (
        np.asarray(parse_argument(f"random:{seed}:64xf32")) for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(parse_argument("random:8xi32"), parse_argument("random:0:8xi32"))


def test_no_extents_is_a_memref_without_dimensions() -> None:
    assert np.asarray(parse_argument("zeros:f32")).shape == ()


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("-3", -3), ("0x10", 16), ("1.5", 1.5), ("1e3", 1000.0)]
)
def test_numbers_are_numbers(text: str, value: float) -> None:
    parsed = parse_argument(text)
    assert (parsed, type(parsed)) == (value, type(value))


def test_npy_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a b.npy"
    np.save(path, np.arange(6, dtype=np.int16).reshape(2, 3))
    np.testing.assert_array_equal(parse_argument(str(path)), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "argument '' must be a .npy file, zeros:, iota: or random[:SEED]:SHAPExDTYPE"),
        ("banana", "argument 'banana' must be a .npy file"),
        *((text, f"argument '{text}' must be") for text in ("zeros:", "zeros:3x", "zeros:-3xf32")),
        ("iota:3xf17", "argument 'iota:3xf17' has an unknown type 'f17', known: i1, "),
        ("random:x:3xf32", "argument 'random:x:3xf32' must be"),
        ("missing.npy", "argument 'missing.npy' cannot be read: no such file or directory"),
        (f"zeros:{'1x' * 33}f32", "must have at most 32 dimensions"),
        (f"zeros:{'9' * 30}xf32", "bytes, the memory of this machine"),
        (f"zeros:0x{1 << 62}xf32", "bytes, the memory of this machine"),
        ("1" + "0" * 400 + ".", "must be a number that f64 holds"),
    ],
)
def test_errors_quote_the_text(text: str, error: str) -> None:
    with pytest.raises(Error) as caught:
        parse_argument(text)
    assert error in str(caught.value)


def test_a_file_that_is_no_array_is_said(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    path.write_text("not an array")
    with pytest.raises(Error, match="cannot be read"):
        parse_argument(str(path))


@pytest.mark.parametrize("form", ["zeros", "iota", "random", "random:7"])
@pytest.mark.parametrize("shape", ["", "0x", "3x5x", "70000x"])
def test_bits_of_bf16_stand_for_its_values(form: str, shape: str) -> None:
    pytest.importorskip("ml_dtypes")
    bits, values = (
        arguments.parse_argument(f"{form}:{shape}bf16", types)
        for types in (TYPES, TYPES | element_dtypes())
    )
    assert (bits.dtype, values.dtype) == (np.uint16, dtype_of("bf16"))
    assert bits.shape == values.shape and bits.tobytes() == values.tobytes()


NAN = np.frombuffer(bytes([0, 0, 0xC0, 0x7F]), np.float32)
OTHER_NAN = np.frombuffer(bytes([1, 0, 0xC0, 0xFF]), np.float32)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (NAN, OTHER_NAN, None),
        (np.float32([0.0]), np.float32([-0.0]), None),
        (np.zeros((2, 2)), np.zeros((2, 2)), None),
        (np.complex128([1, 2]), np.complex128([1, 2]), None),
        (5, 5, None),
        (NAN, np.float32([0.0]), "but 1 of 1 elements differ; the first at [0]: nan and 0.0"),
        (np.arange(4), np.array([0, 1, 3, 3]), "1 of 4 elements differ; the first at [2]: 2 and 3"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "1 of 2 elements differ; the first at [1]"),
        (np.complex128([1, 2]), np.complex128([1, 3]), "but 1 of 2 elements differ"),
        (np.zeros(2), np.zeros(3), "got float64[2] and float64[3]"),
        (np.zeros(2, "f4"), np.zeros(2, "i4"), "got float32[2] and int32[2]"),
        (5, 5.0, "got int64[] and float64[]"),
    ],
)  # fmt: skip
def test_expect_names_the_first_difference(a: Any, b: Any, said: str | None) -> None:
    if said is None:
        compare(0, 1, a, b)
        return
    with pytest.raises(Error) as caught:
        compare(0, 1, a, b)
    assert said in str(caught.value)
