# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor copies move the bytes that the manual says, and maps are refused as the driver does.

`--cases N` draws N boxes of each direction in the place of the same few hundred of every run.
"""

from __future__ import annotations

import tracemalloc
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tensor_kernels import GUARD, SWIZZLES, WAIT, Case, contents, draw, expected, kernel, move

import tile_emulator as te

SCHEDULES = ("eager", "late", "random:1", "random:2")
parsed = cache(te.parse)


def run(case: Case, op: str | None, schedule: str, tensor: bytes, buffer: bytes) -> Any:
    text = kernel(case.rank, case.place, case.box_bytes, op)
    device = te.Device(schedule=schedule)
    return move(device, case, parsed(text), te.encode_tiled, tensor, buffer)


@pytest.mark.parametrize("op", [None, ""], ids=["load", "store"])
def test_a_box_is_what_the_manual_says(op: str | None, pytestconfig: pytest.Config) -> None:
    asked = pytestconfig.getoption("--cases")
    first = 0 if asked is None else pytestconfig.getoption("--first-case")
    inside = 0
    for seed in range(first, first + (asked or 150)):
        case = draw(seed)
        tensor, buffer = contents(case)
        got = run(case, op, SCHEDULES[seed % len(SCHEDULES)], tensor, buffer)
        assert got == expected(case, op, tensor, buffer), case
        inside += any(offset is not None for offset, _ in case.elements())
    assert inside > (asked or 150) / 3


def example(**changes: Any) -> Case:
    given: dict[str, Any] = {
        "element": "float32", "dims": (20, 6), "strides": (96,), "box": (8, 4), "steps": (1, 1),
        "swizzle": "32B", "fill": "none", "corner": (4, 1), "place": 128, "seed": 3,
    }  # fmt: skip
    return Case(**{**given, **changes})


def test_the_rows_of_the_first_swizzle_by_hand() -> None:
    """Lines of 128 bytes take turns: in every second one the halves of 32 bytes are exchanged."""
    case = example(dims=(8, 8), strides=(32,), box=(8, 8), corner=(0, 0), place=0)
    tensor, buffer = contents(case)
    got = np.frombuffer(run(case, None, "eager", tensor, buffer)[1], np.uint8)
    rows = np.frombuffer(tensor, np.uint8)[GUARD:-GUARD].reshape(8, 2, 16)
    assert (got[:128].reshape(4, 2, 16) == rows[:4]).all()
    assert (got[128:256].reshape(4, 2, 16) == rows[4:, ::-1]).all()


REDUCTIONS = [("add", k) for k in ("uint32", "int32", "uint64", "float16", "bfloat16", "float32")]
REDUCTIONS += [
    (op, k)
    for op in ("min", "max")
    for k in ("uint32", "int32", "uint64", "int64", "float16", "bfloat16")
]
REDUCTIONS += [("inc", "uint32"), ("dec", "uint32")]
REDUCTIONS += [(op, k) for op in ("and", "or", "xor") for k in ("uint32", "int32", "uint64")]


def combined(op: str, old: Any, new: Any) -> Any:
    """Return what PTX says of `old` in memory and `new` that comes."""
    if op == "inc":
        return np.where(old >= new, old.dtype.type(0), old + old.dtype.type(1))
    if op == "dec":
        return np.where((old == 0) | (old > new), new, old - old.dtype.type(1))
    functions = {
        "add": np.add, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    return functions[op](old, new)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("op", "element"), REDUCTIONS)
def test_a_reduction_combines_what_is_inside(op: str, element: str, schedule: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if element == "bfloat16" else element)
    per_row = 32 // dtype.itemsize
    case = example(
        element=element, dims=(2 * per_row - 1, 5), strides=(64,), box=(per_row, 4),
        corner=(per_row, 3), swizzle="none",
    )  # fmt: skip
    rng = np.random.default_rng(5)
    tensor, buffer = contents(case)
    count = len(tensor) // dtype.itemsize
    if dtype.kind in "iu":
        values = rng.integers(0, 1 << 30, (2, 9216)).astype(dtype)
    else:
        values = rng.integers(-100, 100, (2, 9216)).astype(dtype)
    tensor, buffer = values[0, :count].tobytes(), values[1].tobytes()[: len(buffer)]
    # The definition: each element that a store would write is combined instead.
    there = expected(case, "", tensor, buffer)[0]
    old, new = np.frombuffer(tensor, dtype), np.frombuffer(there, dtype)
    marks = (
        expected(case, "", bytes(len(tensor)), b"\xff" * len(buffer))[0],
        expected(case, "", b"\xff" * len(tensor), bytes(len(buffer)))[0],
    )
    hit = np.frombuffer(marks[0], f"u{dtype.itemsize}") != 0
    assert 0 < hit.sum() == per_row * 2 - 2
    wanted = np.where(hit, combined(op, old, new), old).astype(dtype).tobytes()
    assert run(case, op, schedule, tensor, buffer) == (wanted, buffer)


@pytest.mark.parametrize(
    ("op", "element"),
    [("add", "float64"), ("add", "uint8"), ("add", "int64"), ("min", "float32"), ("inc", "int32"),
     ("and", "float32"), ("xor", "uint16")],
)  # fmt: skip
def test_a_reduction_of_another_type_is_refused(op: str, element: str) -> None:
    width = {"float64": 8, "int64": 8, "uint8": 1, "uint16": 2}.get(element, 4)
    case = example(
        element=element, box=(32 // width, 4), dims=(32 // width, 4), strides=(64,), corner=(0, 1)
    )
    with pytest.raises(te.EmulationError, match=f"{op} gets a tensor map of {element}") as caught:
        run(case, op, "eager", *contents(case))
    assert caught.value.kind == "address"


def test_flushing_elements_are_flushed_on_their_way_in() -> None:
    case = example(element="float32", dims=(8, 4), strides=(32,), corner=(0, 0), swizzle="none")
    values = np.array([1.0, -1.0, 1e-40, -1e-40] * 8, dtype=np.float32)
    tensor = bytes(GUARD) + values.tobytes() + bytes(GUARD)

    def encode(element: str, *rest: Any) -> bytes:
        return te.encode_tiled("float32_ftz", *rest)

    text = parsed(kernel(2, case.place, case.box_bytes, None))
    _, got = move(te.Device(), case, text, encode, tensor, contents(case)[1])
    words = np.frombuffer(got, np.uint32)[case.place // 4 :][:32]
    assert words.tolist() == [0x3F800000, 0xBF800000, 0, 0x80000000] * 8


GOOD: dict[str, Any] = {
    "data_type": "float16", "rank": 3, "global_address": 1 << 20, "global_dim": (64, 8, 3),
    "global_strides": (128, 1024), "box_dim": (64, 4, 1), "element_strides": (1, 1, 1),
    "interleave": "none", "swizzle": "128B", "l2_promotion": "256B", "oob_fill": "nan",
}  # fmt: skip
ONE = {"rank": 1, "global_dim": (64,), "global_strides": (), "element_strides": (1,)}
REFUSED = [
    ("data_type", {"data_type": "float8"}),
    ("data_type", {"data_type": 13}),
    ("rank", {"rank": 0}),
    ("rank", {"rank": 6}),
    ("global_address", {"global_address": (1 << 20) + 8}),
    ("global_address", {"global_address": -16}),
    ("global_dim", {"global_dim": (64, 8)}),
    ("global_dim[1]", {"global_dim": (64, 0, 3)}),
    ("global_dim[0]", {"global_dim": ((1 << 32) + 1, 8, 3)}),
    ("global_strides", {"global_strides": (128, 1024, 4096)}),
    ("global_strides[0]", {"global_strides": (136, 1024)}),
    ("global_strides[1]", {"global_strides": (128, 1 << 40)}),
    ("box_dim[1]", {"box_dim": (64, 0, 1)}),
    ("box_dim[1]", {"box_dim": (64, 257, 1)}),
    ("box_dim[0]", {"box_dim": (12, 4, 1)}),
    ("box_dim[0]", {"box_dim": (72, 4, 1)}),
    ("box_dim[0]", {"box_dim": (64, 4, 1), "swizzle": "64B"}),
    ("element_strides[2]", {"element_strides": (1, 1, 9)}),
    ("element_strides[0]", {"element_strides": (0, 1, 1)}),
    ("interleave", {"interleave": "16B"}),
    ("interleave", {"interleave": "8B"}),
    ("swizzle", {"swizzle": "96B"}),
    ("swizzle", {"swizzle": 4}),
    ("l2_promotion", {"l2_promotion": "512B"}),
    ("oob_fill", {"oob_fill": "one"}),
    ("oob_fill", {"data_type": "uint16"}),
]


@pytest.mark.parametrize(("name", "change"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_the_driver_refuses_is_refused_by_its_name(name: str, change: Any) -> None:
    assert len(te.encode_tiled(**GOOD)) == 128
    with pytest.raises(ValueError) as caught:
        te.encode_tiled(**{**GOOD, **change})
    assert str(caught.value).startswith(f"{name} must"), caught.value


def test_limits_are_inside() -> None:
    te.encode_tiled(
        **{**GOOD, "global_dim": (1 << 32, 1, 1), "global_strides": (16, (1 << 40) - 16)}
    )
    te.encode_tiled(**{**GOOD, "box_dim": (8, 256, 256), "element_strides": (8, 8, 8)})
    te.encode_tiled(**{**GOOD, **ONE, "box_dim": (64,)})


def test_the_driver_s_numbers_mean_the_same() -> None:
    numbers = {"data_type": 6, "interleave": 0, "swizzle": 3, "l2_promotion": 3, "oob_fill": 1}
    assert te.encode_tiled(**{**GOOD, **numbers}) == te.encode_tiled(**GOOD)
    assert te.encode_tiled(**{**GOOD, "element_strides": None}) == te.encode_tiled(**GOOD)
    assert te.encode_tiled(**{**GOOD, "swizzle": 2, "box_dim": (32, 4, 1)}) != te.encode_tiled(
        **GOOD
    )
    assert list(SWIZZLES) == ["none", "32B", "64B", "128B"]


@pytest.mark.parametrize("name", ["rank", "global_address", "global_dim", "box_dim", "swizzle"])
def test_what_is_no_number_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} must"):
        te.encode_tiled(**{**GOOD, name: 1.5})


WAYS = [
    (None, "shared::cluster.global.tile.mbarrier", "shared::cluster.global.mbarrier"),
    (None, "shared::cluster.global.tile", "shared::cta.global.tile"),
    (
        None,
        "complete_tx::bytes\n    [buffer+128], [%m, {%c0, %c1}], [bar];",
        "complete_tx::bytes.L2::cache_hint\n    [buffer+128], [%m, {%c0, %c1}], [bar], %q;",
    ),
    (
        None,
        "complete_tx::bytes\n    [buffer+128], [%m, {%c0, %c1}], [bar];",
        "complete_tx::bytes.multicast::cluster.L2::cache_hint\n"
        "    [buffer+128], [%m, {%c0, %c1}], [bar], 1, %q;",
    ),
    (None, "L2.global [%m, {%c0, %c1}]", "L2.global.tile.L2::cache_hint [%m, {%c0, %c1}], %q"),
    ("", "shared::cta.tile.bulk_group", "shared::cta.bulk_group"),
    (
        "",
        "tile.bulk_group\n    [%m, {%c0, %c1}], [buffer+128];",
        "tile.bulk_group.L2::cache_hint\n    [%m, {%c0, %c1}], [buffer+128], %q;",
    ),
    ("", "mov.b64 %m, map; cvta.param.u64 %m, %m;", "mov.b64 %m, map;"),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("op", "old", "new"), WAYS, ids=lambda value: str(value)[-24:])
def test_other_ways_to_write_it_mean_the_same(op: Any, old: str, new: str, schedule: str) -> None:
    case = example()
    text = kernel(2, case.place, case.box_bytes, op)
    assert text.count(old) == 1
    tensor, buffer = contents(case)
    got = move(
        te.Device(schedule=schedule), case, te.parse(text.replace(old, new)), te.encode_tiled,
        tensor, buffer,
    )  # fmt: skip
    assert got == expected(case, op, tensor, buffer)


def test_a_map_may_be_in_global_memory() -> None:
    """The kernel reads its address where the others have the map; 64 bytes are its alignment."""
    case = example()
    text = kernel(2, case.place, case.box_bytes, None).replace(
        "mov.b64 %m, map; cvta.param.u64 %m, %m;", "ld.param.u64 %m, [map];"
    )
    tensor, buffer = contents(case)
    device = te.Device()
    for shift in (0, 64, 16):
        place = device.alloc(512) + shift

        def encode(*given: Any, place: int = place) -> bytes:
            device.write(place, te.encode_tiled(*given))
            return place.to_bytes(128, "little")

        if shift == 16:
            with pytest.raises(te.EmulationError, match="it must be at a multiple of 64"):
                move(device, case, te.parse(text), encode, tensor, buffer)
        else:
            got = move(device, case, te.parse(text), encode, tensor, buffer)
            assert got == expected(case, None, tensor, buffer)


@pytest.mark.parametrize(
    "new",
    [
        "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.6d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.bulk_group",
        "cp.async.bulk.tensor.2d.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
    ],
)
def test_what_the_emulator_does_not_have_is_refused_with_its_line(new: str) -> None:
    case = example()
    old = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    text = kernel(2, case.place, case.box_bytes, None)
    assert text.count(old) == 1
    line = text[: text.index(old)].count("\n") + 1
    with pytest.raises(te.PTXError) as caught:
        move(te.Device(), case, te.parse(text.replace(old, new)), te.encode_tiled, *contents(case))
    assert caught.value.line == line


def test_copies_that_have_landed_take_little_memory() -> None:
    """Where the bytes of a box are is forgotten with the copy: a launch may have thousands."""
    case = example(dims=(32, 64), strides=(128,), box=(32, 64), corner=(0, 0), swizzle="none")
    text = kernel(2, case.place, case.box_bytes, None)
    once = text[text.index("  mbarrier.arrive.expect_tx") : text.index("MOVED:")]
    text = text.replace(
        once,
        "  mov.u32 %i, 0; mov.u32 %at, 0;\nMORE:\n" + once + "EACH: mbarrier.try_wait.parity"
        ".shared::cta.b64 %ready, [bar], %at; @!%ready bra EACH; xor.b32 %at, %at, 1;\n"
        "  add.u32 %i, %i, 1; setp.lt.u32 %more, %i, 301; @%more bra MORE;\n",
    )
    text = text.replace(WAIT, "bar.sync 0;")
    tensor, buffer = contents(case)
    program, device = parsed(text), te.Device()
    tracemalloc.start()
    try:
        got = move(device, case, program, te.encode_tiled, tensor, buffer)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert got == expected(case, None, tensor, buffer)
    assert peak < 300 * 8192
