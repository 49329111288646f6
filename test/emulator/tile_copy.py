# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hand-written copy of a 128x64 f16 tile between two CTAs, and ways to break it.

`LINES` names each synchronising line, so that a test replaces or removes exactly one.
"""

from __future__ import annotations

import numpy as np

import tile_emulator as te

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"
TILE_BYTES = 16384

LINES = {
    "init": "@%first mbarrier.init.shared::cta.b64 [%bar], 1;",
    "fence_init": "@%first fence.mbarrier_init.release.cluster;",
    "arm": "@%arms mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 16384;",
    "entry_arrive": "barrier.cluster.arrive.aligned;",
    "entry_wait": "barrier.cluster.wait.aligned;",
    "fence": "fence.proxy.async;",
    "sync": "bar.sync 0;",
    "guard": "@%notfirst bra DONE;",
    "map_dst": "mapa.shared::cluster.u32 %rdst, %dst, 1;",
    "map_bar": "mapa.shared::cluster.u32 %rbar, %bar, 1;",
    "copy": "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
    "[%rdst], [%src], 16384, [%rbar];",
    "more": "",
    "wait": "mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;",
    "retry": "@!%done bra WAIT;",
    "after": "",
    "exit_arrive": "barrier.cluster.arrive.aligned;",
    "exit_wait": "barrier.cluster.wait.aligned;",
}

TEMPLATE = """
.extern .shared .align 128 .b8 smem[];
.visible .entry copy(.param .u64 a, .param .u64 b) {{
  .reg .pred %first, %notfirst, %sends, %arms, %done, %more;
  .reg .b32 %thread, %rank, %src, %dst, %bar, %rdst, %rbar, %i, %at, %v<4>;
  .reg .b64 %a, %b, %off, %p;
  mov.u32 %thread, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  mov.u32 %src, smem;
  add.u32 %dst, %src, 16384;
  add.u32 %bar, %dst, 16384;
  setp.eq.u32 %first, %thread, 0;
  setp.ne.u32 %notfirst, %thread, 0;
  setp.eq.u32 %sends, %rank, 0;
  setp.eq.and.u32 %arms, %rank, 1, %first;
  {init}
  {fence_init}
  {arm}
  {entry_arrive}
  {entry_wait}
  @!%sends bra WAIT;
  mov.u32 %i, 0;
FILL:
  mad.lo.u32 %at, %thread, 16, %i;
  cvt.u64.u32 %off, %at;
  add.u64 %p, %a, %off;
  ld.global.v4.u32 {{%v0, %v1, %v2, %v3}}, [%p];
  add.u32 %at, %at, %src;
  st.shared.v4.u32 [%at], {{%v0, %v1, %v2, %v3}};
  add.u32 %i, %i, 2048;
  setp.lt.u32 %more, %i, 16384;
  @%more bra FILL;
  {fence}
  {sync}
  {guard}
  {map_dst}
  {map_bar}
  {copy}
  {more}
  bra DONE;
WAIT:
  {wait}
  {retry}
  mov.u32 %i, 0;
DRAIN:
  mad.lo.u32 %at, %thread, 16, %i;
  cvt.u64.u32 %off, %at;
  add.u64 %p, %b, %off;
  add.u32 %at, %at, %dst;
  ld.shared.v4.u32 {{%v0, %v1, %v2, %v3}}, [%at];
  st.global.v4.u32 [%p], {{%v0, %v1, %v2, %v3}};
  add.u32 %i, %i, 2048;
  setp.lt.u32 %more, %i, 16384;
  @%more bra DRAIN;
  {after}
DONE:
  {exit_arrive}
  {exit_wait}
  ret;
}}
"""


def tile_copy(**changes: str) -> str:
    """Return the kernel with some of its lines replaced."""
    unknown = set(changes) - set(LINES)
    assert not unknown, unknown
    return HEADER + TEMPLATE.format(**{**LINES, **changes})


def run(ptx: str, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """Run the kernel `copy`; returns what was sent and what arrived."""
    a = np.random.default_rng(1).standard_normal((128, 64)).astype(np.float16)
    b = np.zeros_like(a)
    te.emulate(
        te.parse(ptx),
        "copy",
        [a, b],
        grid=2,
        block=128,
        cluster=2,
        smem=2 * TILE_BYTES + 64,
        **options,  # type: ignore[arg-type]
    )
    return a, b
