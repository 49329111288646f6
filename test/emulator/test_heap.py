# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels' own heap: `malloc` and `free`, as nvcc and LLVM call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tile_emulator as te

TEXT = """
.version 8.1
.target sm_90
.address_size 64
.extern .func (.param .b64 result) malloc (.param .b64 size);
.extern .func free (.param .b64 pointer);
.entry kernel(.param .u64 out)
{{
  .reg .pred %p; .reg .b32 %t, %x; .reg .b64 %size, %at, %out, %own;
  mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mul.wide.u32 %own, %t, 8; add.u64 %out, %out, %own;
  {body}
  ret;
}}
"""
MALLOC = """
  {{ .param .b64 given; .param .b64 back; mov.u64 %size, {size}; st.param.b64 [given], %size;
    call.uni (back), malloc, (given); ld.param.b64 %at, [back]; }}
"""
FREE = "{ .param .b64 given; st.param.b64 [given], %at; call.uni free, (given); }\n"
KEEP = "st.global.u64 [%out], %at;\n"
USE = "st.global.u32 [%at+12], %t; ld.global.u32 %x, [%at+12]; st.global.u32 [%out], %x;\n"


def launch(device: te.Device, body: str, out: int) -> Any:
    module = te.parse(TEXT.format(body=body))
    device.launch(module, "kernel", 1, 32, args=[out.to_bytes(8, "little")])
    return np.frombuffer(device.read(out, 256), np.uint64)


def run(body: str, schedule: str = "eager") -> Any:
    device = te.Device(schedule=schedule)
    return launch(device, body, device.alloc(256))


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1", "explore:4"])
def test_each_thread_has_memory_of_its_own(schedule: str) -> None:
    assert run(MALLOC.format(size=16) + USE + FREE, schedule).tolist() == list(range(32))
    pointers = run(MALLOC.format(size=16) + KEEP, schedule)
    assert len(set(pointers.tolist())) == 32
    assert (pointers % 16 == 0).all()


def test_memory_stays_for_the_next_kernel_which_may_free_it() -> None:
    device = te.Device(schedule="explore:3")
    out = device.alloc(256)
    launch(device, MALLOC.format(size=16) + "st.global.u32 [%at], %t;\n" + KEEP, out)
    launch(device, "ld.global.u64 %at, [%out]; ld.global.u32 %x, [%at];\n" + FREE
           + "cvt.u64.u32 %at, %x; st.global.u64 [%out], %at;\n", out)  # fmt: skip
    assert np.frombuffer(device.read(out, 256), np.uint64).tolist() == list(range(32))
    assert device.memory.heap == {}


def test_the_heap_has_eight_mebibytes() -> None:
    got = run(MALLOC.format(size=1 << 20) + KEEP)
    assert (got != 0).tolist() == [True] * 8 + [False] * 24
    assert (run(MALLOC.format(size=0) + KEEP) == 0).all()
    freed = run(MALLOC.format(size=1 << 20) + FREE + MALLOC.format(size=1 << 20) + KEEP)
    assert (freed != 0).sum() == 8


def test_new_memory_is_not_zero() -> None:
    load = "ld.global.u64 %at, [%at]; st.global.u64 [%out], %at;\n"
    assert (run(MALLOC.format(size=8) + load) != 0).all()


FIRST = "setp.eq.u32 %p, %t, 0; @!%p bra OUT;\n"
FAULTS = {
    "used after free": MALLOC.format(size=16) + FREE + USE,
    "freed twice": FIRST + MALLOC.format(size=16) + FREE + FREE + "OUT:",
    "an address inside is freed": MALLOC.format(size=16) + "add.u64 %at, %at, 8;\n" + FREE,
    "other memory is freed": "mov.u64 %at, %out;\n" + FREE,
    "beyond its end": MALLOC.format(size=12) + USE,
    "null is used": MALLOC.format(size=1 << 30) + USE,
}  # fmt: skip


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_reported(name: str, schedule: str) -> None:
    with pytest.raises(te.EmulationError) as caught:
        run(FAULTS[name], schedule)
    assert caught.value.kind == "address"


def test_null_may_be_freed() -> None:
    run("mov.u64 %at, 0;\n" + FREE)
