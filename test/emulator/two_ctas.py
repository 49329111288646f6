# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small kernels for clusters: a body between a common head and a closing cluster barrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tile_emulator as te

SCHEDULES = ("eager", "late", *(f"random:{seed}" for seed in range(1, 8)))

HEAD = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<40>; .reg .b16 %h<20>; .reg .b32 %r<80>; .reg .b64 %q<80>;
  .shared .align 1024 .b8 sm[8192]; .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2;
  .reg .b32 %rank, %tid, %sm, %bar, %bar2, %peer; .reg .b64 %in, %out;
  .reg .pred %rank0, %rank1, %first, %first0, %first1, %warp1;
  mov.u32 %rank, %cluster_ctarank; mov.u32 %tid, %tid.x; xor.b32 %peer, %rank, 1;
  mov.u32 %sm, sm; mov.u32 %bar, bar; mov.u32 %bar2, bar2;
  setp.eq.u32 %rank0, %rank, 0; setp.eq.u32 %rank1, %rank, 1; setp.eq.u32 %first, %tid, 0;
  and.pred %first0, %rank0, %first; and.pred %first1, %rank1, %first;
  setp.eq.u32 %warp1, %tid, 32;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
"""
CLUSTER_SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
INIT = "@%first mbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster;\n"


def wait(label: str, parity: Any = 0, barrier: str = "%bar", how: str = "") -> str:
    """Wait for a phase, in a loop."""
    return (
        f"{label}: mbarrier.try_wait.parity{how}.shared::cta.b64 %p39, [{barrier}], {parity};\n"
        f"@!%p39 bra {label};\n"
    )


def run(
    body: str,
    schedule: str,
    cluster: int = 2,
    block: int = 32,
    tail: str = CLUSTER_SYNC,
    **more: Any,
) -> Any:
    """Run `body`; returns what it wrote to `%out`, 256 words. `%in` holds 0, 1, 2, ..."""
    out = np.zeros(256, dtype=np.int32)
    source = np.arange(4096, dtype=np.int32)
    te.emulate(
        te.parse(f"{HEAD}{body}{tail}ret;\n}}\n"),
        "k",
        [source, out],
        grid=cluster,
        block=block,
        cluster=cluster,
        schedule=schedule,
        **more,
    )
    return out


def reported(kind: str, body: str, schedule: str, **more: Any) -> te.EmulationError:
    """Run a wrong `body`; it must be reported as `kind`."""
    with pytest.raises(te.EmulationError) as caught:
        run(body, schedule, **more)
    assert caught.value.kind == kind, str(caught.value)
    return caught.value
