# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the emulator from Python that are wrong: the error names the argument."""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tile_emulator as te

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"
KERNEL = te.parse(HEADER + ".entry k() { ret; }")
ADD = te.parse(
    HEADER
    + """.entry add(.param .u64 p, .param .u64 q) { .reg .b64 %a<3>; .reg .b32 %v;
    ld.param.u64 %a1, [p]; ld.param.u64 %a2, [q]; ld.global.u32 %v, [%a1];
    add.u32 %v, %v, 1; st.global.u32 [%a2], %v; ret; }"""
)
HALF = te.parse(
    HEADER
    + """.entry half(.param .u64 p, .param .b16 x) { .reg .b64 %a; .reg .b16 %h;
    ld.param.u64 %a, [p]; ld.param.b16 %h, [x]; st.global.b16 [%a], %h; ret; }"""
)


def launch(**options: Any) -> te.Report:
    return te.emulate(KERNEL, "k", **options)


RIGHT: list[dict[str, Any]] = [
    {"grid": 2},
    {"grid": (2, 1)},
    {"grid": [1, 2, 3]},
    {"grid": np.int64(2), "block": np.array([32, 1])},
    {"cluster": None},
    {"smem": np.int32(16)},
    {"schedule": "late"},
    {"checks": "strict"},
    {"max_steps": 1000},
    {"max_seconds": 5},
    {"max_seconds": math.inf},
]


@pytest.mark.parametrize("options", RIGHT, ids=str)
def test_what_is_right_runs(options: dict[str, Any]) -> None:
    assert launch(**options).steps > 0


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"grid": "2"}, TypeError, "grid must be one to three ints, got '2'"),
    ({"grid": 2.0}, TypeError, "grid must be one to three ints, got 2.0"),
    ({"grid": None}, TypeError, "grid must be one to three ints, got None"),
    ({"grid": (2, "1")}, TypeError, "grid must be one to three ints, got (2, '1')"),
    ({"grid": ()}, te.LaunchError, "grid must be one to three positive numbers, got ()"),
    ({"block": (1,) * 4}, te.LaunchError, "block must be one to three positive numbers"),
    ({"cluster": 1.5}, TypeError, "cluster must be one to three ints, got 1.5"),
    ({"smem": "3"}, TypeError, "smem must be an int, got '3'"),
    ({"smem": None}, TypeError, "smem must be an int, got None"),
    ({"schedule": None}, TypeError, "schedule must be a str, got None"),
    ({"schedule": 3}, TypeError, "schedule must be a str, got 3"),
    ({"checks": None}, TypeError, "checks must be a str, got None"),
    ({"checks": "lax"}, ValueError, "checks must be off, default or strict, and ,-KIND"),
    ({"checks": "strict,race"}, ValueError, "must be off, default or strict, and ,-KIND"),
    ({"checks": "default,-deadlock"}, ValueError, "uninitialised-read; got 'deadlock'"),
    ({"max_steps": None}, TypeError, "max_steps must be an int, got None"),
    ({"max_steps": 0}, ValueError, "max_steps must be at least 1, got 0"),
    ({"max_seconds": "5"}, TypeError, "max_seconds must be a number of seconds, got '5'"),
    ({"max_seconds": -1}, ValueError, "max_seconds must be a positive number of seconds, got -1"),
    ({"max_seconds": math.nan}, ValueError, "max_seconds must be a positive number of seconds"),
]


@pytest.mark.parametrize(("options", "kind", "text"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_what_is_wrong_is_named(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        launch(**options)
    assert type(caught.value) is kind
    assert text in str(caught.value)


def test_a_module_is_what_was_parsed() -> None:
    with pytest.raises(TypeError, match=r"module must be what tile_emulator.parse returns"):
        te.emulate("text", "k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"module must be what tile_emulator.parse returns"):
        te.Device().launch(None, "k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ptx must be a str, got None"):
        te.parse(None)  # type: ignore[arg-type]


def test_memory_is_as_it_was_after_a_wrong_call() -> None:
    device, other = te.Device(), te.Device()
    calls: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: device.alloc(1.5), TypeError, "nbytes must be an int, got 1.5"),  # type: ignore[arg-type]
        (lambda: device.alloc(-1), ValueError, "nbytes must be at least 0, got -1"),
        (lambda: device.alloc(1 << 62), MemoryError, "Unable to allocate"),
        (lambda: device.free("x"), TypeError, "address must be an int, got 'x'"),  # type: ignore[arg-type]
    ]
    for call, kind, text in calls:
        with pytest.raises(kind, match=text):
            call()
    place = device.alloc(16)
    assert place == other.alloc(16)
    device.write(place, bytes(range(16)))
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: device.read(place, -1), ValueError, "nbytes must be at least 0, got -1"),
        (lambda: device.read(place, 1.0), TypeError, "nbytes must be an int, got 1.0"),  # type: ignore[arg-type]
        (lambda: device.read(None, 1), TypeError, "address must be an int, got None"),  # type: ignore[arg-type]
        (lambda: device.write(place, 3), TypeError, "data must have a buffer, .*, got 3"),
        (lambda: device.write(place, bytes(17)), te.Error, "outside of every buffer"),
        (lambda: device.memset(place, 1.5, 4), TypeError, "value must be an int, got 1.5"),  # type: ignore[arg-type]
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()
    assert device.read(place, 16) == bytes(range(16))


def test_strided_arrays_are_written_without_their_gaps() -> None:
    device = te.Device()
    place = device.alloc(64)
    whole = np.arange(32, dtype=np.int16).reshape(4, 8)
    for view in (whole, whole[:, ::2], whole.T, whole[::-1], whole[:0], np.float16(3)):
        device.write(place, view)
        assert device.read(place, np.asarray(view).nbytes) == np.asarray(view).tobytes()


def test_a_read_only_array_may_be_read() -> None:
    one, two = np.array([41], np.uint32), np.zeros(1, np.uint32)
    one.flags.writeable = False
    te.emulate(ADD, "add", [one, two])
    assert two[0] == 42


def test_a_kernel_that_changes_a_read_only_array_is_an_error_that_changes_nothing() -> None:
    store = te.parse(
        HEADER
        + """.entry both(.param .u64 p, .param .u64 q) { .reg .b64 %a<3>;
        ld.param.u64 %a1, [p]; ld.param.u64 %a2, [q];
        st.global.u32 [%a1], 7; st.global.u32 [%a2], 7; ret; }"""
    )
    one, two = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    te.emulate(store, "both", [one, two])
    assert (one[0], two[0]) == (7, 7)
    one[0] = two[0] = 0
    two.flags.writeable = False
    with pytest.raises(ValueError, match=r"argument 1 must be writeable.*kernel 'both' changed it"):
        te.emulate(store, "both", [one, two])
    assert (one[0], two[0]) == (0, 0)


def test_a_number_that_its_float_type_cannot_hold_is_refused() -> None:
    out = np.zeros(1, np.float16)
    for value in (65504.0, -2.5, math.inf, -math.inf):
        te.emulate(HALF, "half", [out, value])
        assert out[0] == value
    for value in (1e9, -65520.0):
        with pytest.raises(te.LaunchError, match="does not fit a parameter of 2 bytes"):
            te.emulate(HALF, "half", [out, value])


def test_the_version_is_that_of_the_package() -> None:
    assert te.__version__ == importlib.metadata.version("mlir-tile")
