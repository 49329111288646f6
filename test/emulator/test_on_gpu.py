# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correct kernels write the same bytes on a GPU as on the emulator."""

import pytest
from cuda_device import CudaDevice
from faults.kernels import KERNELS, Kernel, launch, run


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_same_bytes(kernel: Kernel) -> None:
    with CudaDevice() as device:
        written = launch(kernel, device, kernel.text)
    assert written == run(kernel, kernel.text, "random:1") == kernel.expected(kernel.data)
