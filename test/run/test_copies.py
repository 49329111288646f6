# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of many layouts arrive byte for byte: on the emulator, and on a GPU where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from copy_programs import Copy, Layout, rows

import mlir_tile as mt

DTYPES = {"f16": np.uint16, "f32": np.uint32, "i8": np.uint8, "f64": np.uint64, "index": np.uint64}
"""Patterns of bits, so that every byte counts; what a float means does not matter here."""

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "index": np.int64}

COPIES = {
    "one contiguous tile": Copy("f16", rows(128, 64), rows(128, 64)),
    "a vector": Copy("f16", rows(256), rows(256)),
    "rows of one pitch": Copy("f16", Layout((8, 128), (256, 1)), Layout((8, 128), (256, 1))),
    "rows of two pitches": Copy("f16", Layout((8, 128), (256, 1)), Layout((8, 128), (512, 1))),
    "packed rows to a pitch": Copy("f16", rows(8, 128), Layout((8, 128), (256, 1))),
    "two loops": Copy("f16", Layout((2, 8, 64), (1024, 128, 1)), Layout((2, 8, 64), (1024, 64, 1))),
    "an extent of one": Copy(
        "f16", Layout((64, 1, 32), (32, 7, 1)), Layout((64, 1, 32), (32, 2048, 1))
    ),
    "contiguous in another order": Copy(
        "f16", Layout((4, 8, 8), (64, 1, 8)), Layout((4, 8, 8), (64, 1, 8))
    ),
    "an offset on one side": Copy("f32", Layout((16,), (1,), 4, 20), rows(16)),
    "offsets on both sides": Copy("f32", Layout((16,), (1,), 4), Layout((16,), (1,), 8, 32)),
    "a broadcast source": Copy("f32", Layout((4, 64), (0, 1)), rows(4, 64)),
    "no elements": Copy("f16", rows(0, 64), rows(0, 64)),
    "bytes": Copy("i8", rows(16, 48), Layout((16, 48), (64, 1))),
    "doubles": Copy("f64", rows(4, 2), Layout((4, 2), (6, 1))),
    "indices": Copy("index", rows(10), rows(10)),
    "many chunks": Copy("f16", Layout((64, 8), (16, 1)), Layout((64, 8), (24, 1))),
    "backwards on both sides": Copy(
        "f32", Layout((4, 8), (-8, 1), 24), Layout((4, 8), (-16, 1), 48)
    ),
    "a rank at run time": Copy("f16", rows(32, 8), rows(32, 8), runtime_rank=True),
    "rank 3 of 4": Copy("f16", rows(32, 8), rows(32, 8), (4, 1, 1), 1, 3),
    "down from rank 2 of 4": Copy(
        "f16", rows(32, 8), rows(32, 8), (4, 1, 1), 2, 0, runtime_rank=True
    ),
    "a cluster of 2 by 2": Copy("f16", rows(32, 8), rows(32, 8), (2, 2, 1), 1, 2),
    "a cluster of 8": Copy("f16", rows(32, 8), rows(32, 8), (2, 2, 2), 7, 4, runtime_rank=True),
}


def pitched(chunk: int, chunks: int, gap: int) -> Layout:
    return Layout((chunks, chunk), (chunk + gap, 1))


def columns(rows: int, columns: int) -> Layout:
    return Layout((rows, columns), (1, rows))


SWIZZLED = rows(128, 64, swizzle=(3, 3, 3))

TOGETHER = {
    "contiguous": Copy("f16", rows(128, 64), rows(128, 64)),
    "chunks of 256 bytes": Copy("f16", pitched(128, 64, 8), pitched(128, 64, 16)),
    "chunks of 64 bytes": Copy("f16", pitched(32, 70, 8), pitched(32, 70, 16)),
    "chunks of 32 bytes": Copy("f16", pitched(16, 128, 8), pitched(16, 128, 16)),
    "chunks of 16 bytes": Copy("f16", pitched(8, 200, 8), pitched(8, 200, 16)),
    "chunks of 80 bytes": Copy("f16", pitched(40, 13, 8), pitched(40, 13, 24)),
    "a prime number of chunks": Copy("f16", pitched(8, 67, 8), pitched(8, 67, 16)),
    "a rank at run time": Copy("f16", pitched(8, 9, 8), rows(9, 8), runtime_rank=True),
    "to swizzled": Copy("f16", rows(128, 64), SWIZZLED),
    "from swizzled": Copy("f16", SWIZZLED, rows(128, 64)),
    "few bytes": Copy("f32", rows(4), rows(4)),
    "no elements": Copy("f16", rows(0, 64), rows(0, 64)),
}
"""What both variants can copy."""

SCATTERED = {
    "runs of 8 bytes": Copy("f16", pitched(4, 50, 4), pitched(4, 50, 8)),
    "runs of 4 bytes": Copy("f16", pitched(2, 50, 2), pitched(2, 50, 4)),
    "rows to columns of 4 bytes": Copy("f32", rows(64, 64), columns(64, 64)),
    "columns to rows of 4 bytes": Copy("f32", columns(12, 20), rows(12, 20)),
    "rows to columns of 2 bytes": Copy("f16", rows(64, 32), columns(64, 32)),
    "rows to columns of 1 byte": Copy("i8", rows(32, 20), columns(32, 20)),
    "rows to columns of 8 bytes": Copy("f64", rows(12, 10), columns(12, 10)),
    "three elements of 4 bytes": Copy("f32", rows(3, 5), columns(3, 5)),
    "swizzled to columns": Copy("f16", rows(64, 64, swizzle=(3, 3, 3)), columns(64, 64)),
    "an offset of 4 bytes": Copy("f32", Layout((70,), (1,), 1), Layout((70,), (1,), 2)),
    "a broadcast element": Copy("f32", Layout((64,), (0,)), rows(64)),
}
"""What has no runs of 16 bytes."""

BLOCKS = [(64, 1, 1), (4, 8, 2), (96, 1, 1), (32, 1, 1)]


def run_and_compare(copy: Copy, device: str) -> None:
    draw = np.random.default_rng(7)
    bits = DTYPES[copy.element]
    a = draw.integers(0, 2**63, copy.src.elements, np.uint64).astype(bits)
    b = draw.integers(0, 2**63, copy.dst.elements, np.uint64).astype(bits)
    expected = copy.expected(a, b)
    with mt.context():
        executable = mt.compile(mt.parse(copy.program()))
    kind = FLOATS[copy.element]
    executable.invoke("main", a.view(kind), b.view(kind), device=device, timeout=600)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("issue", ["warp", "cta"])
@pytest.mark.parametrize("variant", ["bulk", "st_async"])
@pytest.mark.parametrize("copy", TOGETHER.values(), ids=TOGETHER.keys())
def test_threads_that_copy_together_bring_the_bytes_once(
    copy: Copy, variant: str, issue: str, device: str
) -> None:
    run_and_compare(replace(copy, issue=issue, variant=variant), device)


@pytest.mark.parametrize("issue", ["warp", "cta"])
@pytest.mark.parametrize("copy", SCATTERED.values(), ids=SCATTERED.keys())
def test_threads_copy_what_lies_scattered(copy: Copy, issue: str, device: str) -> None:
    run_and_compare(replace(copy, issue=issue), device)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("variant", ["bulk", "st_async"])
def test_blocks_of_any_shape_copy_together(
    variant: str, block: tuple[int, int, int], device: str
) -> None:
    copy = TOGETHER["chunks of 16 bytes"]
    run_and_compare(replace(copy, issue="cta", variant=variant, block=block), device)


@pytest.mark.parametrize("issue", ["warp", "cta"])
@pytest.mark.parametrize("variant", ["bulk", "st_async"])
def test_a_barrier_armed_with_16_bytes_more_never_completes(variant: str, issue: str) -> None:
    copy = replace(TOGETHER["chunks of 32 bytes"], issue=issue, variant=variant, more_bytes=16)
    with mt.context(), pytest.warns(mt.CompileWarning):  # the bytes are counted, too
        executable = mt.compile(mt.parse(copy.program()))
    a = np.zeros(copy.src.elements, np.float16)
    b = np.zeros(copy.dst.elements, np.float16)
    with pytest.raises(mt.Error, match="deadlock"):
        executable.invoke("main", a, b, device="emulator", timeout=600)


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_the_bytes_arrive_and_no_others_change(copy: Copy, device: str) -> None:
    run_and_compare(copy, device)


@pytest.mark.gpu
def test_the_demonstration_runs_a_thousand_times(demonstration: str) -> None:
    with mt.context():
        executable = mt.compile(mt.parse(demonstration))
    draw = np.random.default_rng(1)
    for _ in range(1000):
        a = draw.integers(0, 2**16, (128, 64), np.uint16)
        b = np.zeros_like(a)
        given, made = a.view(np.float16), b.view(np.float16)
        executable.invoke("main", given, made, device="cuda", timeout=600)
        np.testing.assert_array_equal(a, b)
