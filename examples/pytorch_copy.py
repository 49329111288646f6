# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demonstration on PyTorch's tensors: launched on a side stream, then replayed as a CUDA graph.

python examples/pytorch_copy.py     copy and compare; needs PyTorch and a GPU
"""

import sys
from pathlib import Path

import mlir_tile as mt

try:
    import torch
except ImportError as error:
    sys.exit(f"error: this needs PyTorch: {error}")

SHAPE, CLUSTER = (128, 64), 2


def differs(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Compare bytes, once all work on the device is done."""
    torch.cuda.synchronize()
    return not torch.equal(a.view(torch.int16), b.view(torch.int16))


def main() -> str | None:
    """Run; return what went wrong."""
    if not (usable := mt.device_info().usable):
        return f"error: this needs a GPU: {mt.device_info().reason}"
    if not torch.cuda.is_available():
        return "error: this needs PyTorch for CUDA, which finds no GPU"
    with mt.context():
        program = mt.parse_file(Path(__file__).with_name("dsmem_copy.mlir"))
        copy = mt.compile(program).kernel("kernels", "dsmem_copy")

    torch.cuda.set_device(usable[0].ordinal)
    a = torch.empty(SHAPE, dtype=torch.float16, device="cuda")
    b, c = torch.zeros_like(a), torch.zeros_like(a)

    # What is queued on the side stream before and after needs no waiting in between.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        a.normal_()
        copy[CLUSTER](a, b)
        c.copy_(b)
    if differs(a, b) or differs(a, c):
        return "error: the tile differs after a launch on a side stream"

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy[CLUSTER](a, b)
        copy[CLUSTER](b, c)
    for _ in range(3):
        a.normal_()
        b.zero_()
        graph.replay()
        if differs(a, b) or differs(a, c):
            return "error: the tile differs after a replay of the graph"
    return None


if __name__ == "__main__":
    sys.exit(main())
