# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument forms of tile-run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlir_tile.runtime.arguments import parse_argument
from mlir_tile.runtime.dtypes import dtype_of, element_names


@pytest.mark.parametrize("element", element_names())
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
        ("", "'' must be a .npy file, zeros:SHAPExDTYPE"),
        ("banana", "'banana' must be a .npy file"),
        ("zeros:", "'zeros:' must give SHAPExDTYPE, as in 128x64xf16, got ''"),
        ("zeros:3x", "got '3x'"),
        ("zeros:-3xf32", "got '-3xf32'"),
        ("iota:3xf17", "'iota:3xf17' has an unknown type: element type f17"),
        ("random:x:3xf32", "must have a seed of decimal digits, got 'x'"),
        ("missing.npy", "'missing.npy' is not a file"),
    ],
)
def test_errors_quote_the_text(text: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_argument(text)
    assert error in str(caught.value)


def test_a_file_that_is_no_array_is_said(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    path.write_text("not an array")
    with pytest.raises(ValueError, match="cannot be read as an array"):
        parse_argument(str(path))
