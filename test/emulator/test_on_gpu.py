# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correct kernels write the same bytes on a GPU as on the emulator."""

import pytest
from cuda_device import CudaDevice
from faults.kernels import KERNELS, Kernel, launch, run
from tensor_kernels import contents, draw, expected, kernel, move


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
