# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correct kernels write the same bytes on a GPU as on the emulator."""

from typing import Any

import numpy as np
import pytest
from cuda_device import CudaDevice
from faults.kernels import KERNELS, Kernel, launch, run
from matrix_fragments import Shape, fragment_a, fragment_b, fragment_c, product, values
from tensor_kernels import contents, draw, expected, kernel, move
from test_matrices import all_forms, mma
from test_warpgroups import Form, data, name_of
from test_warpgroups import all_forms as warpgroup_forms
from test_warpgroups import kernel as product_kernel


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_same_bytes(kernel: Kernel) -> None:
    with CudaDevice() as device:
        written = launch(kernel, device, kernel.text)
    assert written == run(kernel, kernel.text, "random:1") == kernel.expected(kernel.data)


@pytest.mark.gpu
@pytest.mark.parametrize("op", [None, ""], ids=["load", "store"])
def test_the_same_boxes(op: str | None, pytestconfig: pytest.Config) -> None:
    """The definition of a box, with which the emulator is compared, is that of the GPU.

    Rows that end inside of 16 bytes are not stored here: the hardware is said to write whole ones.
    """
    asked = pytestconfig.getoption("--cases") or 100
    with CudaDevice() as device:
        for seed in range(asked):
            case = draw(seed, for_stores=op is not None)
            if op is not None and case.dims[0] * case.width % 16:
                continue
            tensor, buffer = contents(case)
            text = kernel(case.rank, case.place, case.box_bytes, op)
            got = move(device, case, text, device.encode_tiled, tensor, buffer)
            assert got == expected(case, op, tensor, buffer), case


@pytest.mark.gpu
@pytest.mark.parametrize("form", all_forms(), ids=lambda form: "-".join(map(str, form)))
def test_the_same_products(form: tuple[Shape, str, str, str, str]) -> None:
    shape, to, a_kind, b_kind, c_kind = form
    m, n, k = shape
    a, b, c = values(a_kind, (m, k), 1), values(b_kind, (k, n), 2), values(c_kind, (m, n), 3)
    wanted = fragment_c(shape, to, product(a, b, c))
    given = [
        fragment_a(shape, a_kind, a), fragment_b(shape, b_kind, b), fragment_c(shape, c_kind, c),
        np.zeros_like(wanted),
    ]  # fmt: skip
    assert (on_gpu(mma(*form), given, 32) == wanted).all()


def on_gpu(text: str, given: list[Any], block: int) -> Any:
    """Run a kernel of arrays on the GPU; returns the last one."""
    with CudaDevice() as device:
        pointers = [device.alloc(array.nbytes) for array in given]
        for pointer, array in zip(pointers, given, strict=True):
            device.write(pointer, array.tobytes())
        arguments = [pointer.to_bytes(8, "little") for pointer in pointers]
        device.launch(text, "k", grid=1, block=block, args=arguments)
        return np.frombuffer(device.read(pointers[-1], given[-1].nbytes), given[-1].dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("form", warpgroup_forms(), ids=name_of)
def test_the_same_products_of_warpgroups(form: Form) -> None:
    *given, wanted = data(form)
    got = on_gpu(product_kernel(form), [*given, np.zeros_like(wanted)], 128)
    assert (got == wanted).all()
