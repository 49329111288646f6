# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on long rows: a cluster of CTAs shares each of them.

The functions take tensors of PyTorch on a GPU, and run on the emulator for its tensors in host
memory and for arrays of NumPy. They are written with public names of `mlir_tile` only.
"""

from .kernels.cross_entropy import cross_entropy
from .kernels.norms import layer_norm, rms_norm
from .kernels.softmax import log_softmax, softmax
from .kernels.topk import topk
from .launching import emulation
from .operations import register as _register
from .tensors import torch as _torch

if _torch is not None:
    _register()

__all__ = ["cross_entropy", "emulation", "layer_norm", "log_softmax", "rms_norm", "softmax", "topk"]
