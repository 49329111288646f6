# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GPU cannot launch and PTX cannot name: LLVM ends the process on some of it."""

import math
import re
from collections.abc import Iterator

from mlir import ir

from .scripted import PassFailure, register_pass

MOST_THREADS = 1024
MOST_THREADS_ALONG_Z = 64
MOST_CTAS = 16
"""Of a cluster, on GPUs that allow more than the portable 8."""

SIZES = {
    "known_block_size": MOST_THREADS,
    "nvvm.maxntid": MOST_THREADS,
    "nvvm.reqntid": MOST_THREADS,
    "known_cluster_size": MOST_CTAS,
    "nvvm.cluster_dim": MOST_CTAS,
}
"""Attributes of kernels that are sizes, and what their product is at most."""

# Upstream makes the second of the first, and has both then.
TWINS = {"known_block_size": "nvvm.maxntid", "known_cluster_size": "nvvm.cluster_dim"}

FUNCTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+")
# LLVM renames what no other module sees.
GLOBAL_NAME = re.compile(r"[A-Za-z0-9_$.@]+")


@register_pass(
    "tile-check-kernels",
    "Refuse kernels that no GPU can launch and names not of PTX",
    changes_nothing=True,
)
def check_kernels(module: ir.Operation) -> None:
    """Raise `PassFailure` at the first op that breaks a limit."""
    for op in device_symbols(module):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        is_function = "function_type" in op.attributes
        # LLVM's intrinsics are declared by names with dots.
        is_declared = is_function and not op.regions[0].blocks
        rule = FUNCTION_NAME if is_function else GLOBAL_NAME
        if not is_declared and not rule.fullmatch(name):
            raise PassFailure(
                op,
                f"'{op.name}' op '{name}' must have a name that PTX can write",
                "take letters, digits, _ and $, and no digit first",
            )
        check_sizes(op)


def device_symbols(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yield what has a name in a `gpu.module` of `module`."""
    for op in module.regions[0].blocks[0]:
        if op.operation.name == "gpu.module":
            for inner in op.operation.regions[0].blocks[0]:
                if "sym_name" in inner.operation.attributes:
                    yield inner.operation


def check_sizes(kernel: ir.Operation) -> None:
    """Raise `PassFailure` for sizes of blocks and clusters that cannot be."""
    for name, most in SIZES.items():
        if name not in kernel.attributes:
            continue
        if (twin := TWINS.get(name)) and twin in kernel.attributes:
            raise PassFailure(
                kernel, f"'{kernel.name}' op must have one of {name} and {twin}", f"drop {twin}"
            )
        attribute = kernel.attributes[name]
        if not isinstance(attribute, ir.DenseI32ArrayAttr):
            continue
        sizes = list(attribute)
        of = "threads" if most == MOST_THREADS else "CTAs"
        if min(sizes, default=0) < 1 or math.prod(sizes) > most:
            raise PassFailure(
                kernel,
                f"'{kernel.name}' op {name} must be positive and {most} {of} at most, got "
                f"{'x'.join(map(str, sizes))}",
                f"choose a size that a GPU can launch, such as {most // 4} along x",
            )
        if most == MOST_THREADS and len(sizes) == 3 and sizes[2] > MOST_THREADS_ALONG_Z:
            raise PassFailure(
                kernel,
                f"'{kernel.name}' op {name} must have {MOST_THREADS_ALONG_Z} threads along z at "
                f"most, got {sizes[2]}",
                "use x or y",
            )
