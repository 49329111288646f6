# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special registers: those fixed for a thread, and those read when they are used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_emulator.instructions.program import SHARED_BASE

if TYPE_CHECKING:
    from tile_emulator.machine.warp import Mask, Warp

_AXES = "xyz"
_TRIPLES = (
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
)
SPECIAL = {f"{name}.{axis}" for name in _TRIPLES for axis in _AXES} | {
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%aggr_smem_size",
    "%envreg0",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "WARP_SZ",
}
DYNAMIC = {
    "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"
}  # fmt: skip

# What PTX has besides.
UNSUPPORTED = re.compile(r"%envreg\d+|%pm\d+(_64)?|%current_graph_exec|%reserved_smem_offset_\w+")


def special_value(w: Warp, name: str) -> Any:
    """Return the value, one for all lanes or one for each."""
    cta = w.cta
    cluster = cta.cluster
    launch = cluster.launch
    lanes = np.arange(32, dtype=np.uint64)
    head, _, axis = name.partition(".")
    if axis:
        i = _AXES.index(axis)
        if head == "%tid":
            return launch.thread_axes[i][32 * w.index : 32 * w.index + 32]
        return {
            "%ntid": launch.block,
            "%ctaid": cta.ctaid,
            "%nctaid": launch.grid,
            "%clusterid": cluster.clusterid,
            "%nclusterid": tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=False)),
            "%cluster_ctaid": cta.cluster_ctaid,
            "%cluster_nctaid": launch.cluster,
        }[head][i]
    one = np.uint64(1)
    bit = one << lanes
    values: dict[str, Any] = {
        "shared": cta.shared_address(0),
        "%laneid": lanes,
        "%warpid": w.index,
        "%nwarpid": 64,
        "%smid": cta.linear % 132,
        "%nsmid": 132,
        "%gridid": launch.number,
        "%cluster_ctarank": cta.rank,
        "%cluster_nctarank": cluster.size,
        "%is_explicit_cluster": int(launch.explicit_cluster),
        "%lanemask_eq": bit,
        "%lanemask_lt": bit - one,
        "%lanemask_le": (bit - one) | bit,
        "%lanemask_ge": np.uint64(0xFFFFFFFF) & ~(bit - one),
        "%lanemask_gt": np.uint64(0xFFFFFFFF) & ~((bit - one) | bit),
        "%dynamic_smem_size": launch.dynamic_bytes,
        "%total_smem_size": launch.shared_bytes + 1024,
        "%aggr_smem_size": launch.shared_bytes + 1024,
        "%envreg0": 0,
        "WARP_SZ": 32,
    }
    if name.startswith("%reserved_smem_offset"):
        return SHARED_BASE if name.endswith(("end", "cap")) else 0
    return values[name]


def thread_axis(block: tuple[int, int, int], linear: Any, axis: int) -> Any:
    """Return one coordinate of the threads with these linear numbers."""
    x, y = np.uint64(block[0]), np.uint64(block[1])
    if axis == 0:
        return linear % x
    if axis == 1:
        return linear // x % y
    return linear // (x * y)


def dynamic_value(w: Warp, m: Mask, name: str) -> int:
    """Return a clock: the number of instructions that the emulator has run, as cycles."""
    steps = w.cta.cluster.launch.budget.steps
    if name.startswith("%globaltimer"):
        return steps >> 32 if name.endswith("_hi") else steps & (2**32 - 1)
    if name == "%clock64":
        return steps
    return steps >> 32 if name == "%clock_hi" else steps & 0xFFFFFFFF
