# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of kernels that are refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_tensors import CupyArray, Dlpack, Interface, TorchTensor, on_device
from kernel_programs import kernel


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


ZEROS = np.zeros((4, 8), np.float32)

WRONG: list[tuple[str, Callable[[], tuple[Any, ...]], type[Exception], str]] = [
    ("count", lambda: (), TypeError, "kernel 'dense' takes 3 arguments (memref<?x?xf32>, "),
    (
        "element",
        lambda: (TorchTensor(ZEROS.astype(np.float64)), TorchTensor(ZEROS), 0.0),
        TypeError,
        "argument 0 of kernel 'dense' must have element type f32, as memref<?x?xf32> does, got f64",
    ),
    (
        "element of an interface",
        lambda: (Interface(ZEROS, typestr=">f4"), Interface(ZEROS), 0.0),
        TypeError,
        "argument 0 of kernel 'dense' has elements of type '>f4'",
    ),
    (
        "rank",
        lambda: (TorchTensor(ZEROS), TorchTensor(ZEROS[0]), 0.0),
        ValueError,
        "argument 1 of kernel 'dense' must have shape ?x?, as memref<?x?xf32> does, got 8",
    ),
    (
        "strides",
        lambda: (TorchTensor(ZEROS), CupyArray(ZEROS.T), 0.0),
        ValueError,
        "argument 1 of kernel 'dense' must have stride 4 in dimension 0, as memref<?x?xf32> does, "
        "got 1",
    ),
    (
        "parts of elements",
        lambda: (Interface(ZEROS, strides=(32, 6)), Interface(ZEROS), 0.0),
        TypeError,
        "argument 0 of kernel 'dense' cannot be read as a device tensor: strides of (32, 6) bytes",
    ),
    (
        "read-only interface",
        lambda: (Interface(ZEROS, data=(ZEROS.ctypes.data, True)), Interface(ZEROS), 0.0),
        ValueError,
        "argument 0 of kernel 'dense' must be writeable, got a read-only array",
    ),
    (
        "read-only dlpack",
        lambda: (TorchTensor(ZEROS), Dlpack(read_only(ZEROS.copy())), 0.0),
        ValueError,
        "argument 1 of kernel 'dense' must be writeable",
    ),
    (
        "copy",
        lambda: (TorchTensor(ZEROS), Dlpack(ZEROS, flags=2), 0.0),
        ValueError,
        "argument 1 of kernel 'dense' must share its memory, got a copy that its library exported",
    ),
    (
        "misaligned",
        lambda: (
            (TorchTensor(np.zeros(36, np.uint8)[1:33].view(np.float32).reshape(1, 8)),) * 2 + (0.0,)
        ),
        ValueError,
        "argument 0 of kernel 'dense' must be aligned to its elements",
    ),
    (
        "host array",
        lambda: (ZEROS, ZEROS, 0.0),
        TypeError,
        "argument 0 of kernel 'dense' must be on a GPU, got a ndarray in host memory: pass a device"
        ' tensor, use device="emulator", or let a host function copy it (exe.invoke)',
    ),
    (
        "host tensor",
        lambda: (TorchTensor(ZEROS), TorchTensor(ZEROS, -1), 0.0),
        TypeError,
        "argument 1 of kernel 'dense' must be on a GPU, got a TorchTensor in host memory",
    ),
    (
        "host address",
        lambda: (Interface(ZEROS, data=(16, False)), Interface(ZEROS), 0.0),
        TypeError,
        "argument 0 of kernel 'dense' must be on a GPU, its address 0x10 is on none",
    ),
    (
        "managed by another device",
        lambda: (Dlpack(ZEROS, device_type=10), Dlpack(ZEROS), 0.0),
        TypeError,
        "argument 0 of kernel 'dense' must be on a GPU",
    ),
    (
        "no tensor",
        lambda: ([1.0], ZEROS, 0.0),
        TypeError,
        "must be a device tensor, got list [1.0]",
    ),
    (
        "scalar",
        lambda: (TorchTensor(ZEROS), TorchTensor(ZEROS), "x"),
        TypeError,
        "argument 2 of kernel 'dense' must be a number, got str 'x'",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "kind", "text"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG]
)
def test_wrong_arguments_are_named_before_anything_runs(
    arguments: Any, kind: type[Exception], text: str, program, fake, streams
) -> None:
    on_device(fake, ZEROS)
    for _ in range(2):
        with pytest.raises(kind) as caught:
            kernel("dense")[1, 1](*arguments())
        assert text in str(caught.value)
    assert not {"cuLaunchKernelEx", "cuModuleLoadDataEx"} & {*fake.log()}


def test_gradients_and_negated_views_are_refused(program, fake, streams) -> None:
    good, bad = (TorchTensor(np.zeros((1, 1), np.float32)) for _ in range(2))
    kernel("dense")[1, 1](good, bad, 0.0)
    bad.negated = True
    with pytest.raises(TypeError, match="argument 1 of kernel 'dense' is a negated view"):
        kernel("dense")[1, 1](good, bad, 0.0)
    bad.negated, bad.requires_grad = False, True
    with pytest.raises(TypeError, match=r"must not require a gradient.*detach\(\)"):
        kernel("dense")[1, 1](good, bad, 0.0)


def test_bf16_and_f8_are_known_by_name(program, fake, streams) -> None:
    a, b = TorchTensor(np.zeros(4, np.int16)), TorchTensor(np.zeros(4, np.int8))
    a.dtype, b.dtype = "torch.bfloat16", "torch.float8_e4m3fn"
    kernel("bytes")[1, 1](a, b)
    b.dtype = "torch.float8_e5m2"
    with pytest.raises(TypeError, match="must have element type f8E4M3FN"):
        kernel("bytes")[1, 1](a, b)
