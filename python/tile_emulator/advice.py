# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to change, in words of PTX; a compiler may put it into those of its own language."""

from __future__ import annotations


class Advice(str):
    """Advice known by a `key`, under which `Device` takes other words for it."""

    __slots__ = ("key",)
    key: str

    def __new__(cls, key: str, text: str) -> Advice:
        self = super().__new__(cls, text)
        self.key = key
        return self


WAIT = Advice("wait", "wait on the copy's mbarrier before touching these bytes")
WAIT_FIRST = Advice("wait-first", "wait on the first copy's mbarrier before issuing the second")
ACKNOWLEDGE = Advice(
    "acknowledge",
    "let the reader wait for the copy, and acknowledge before the next one is issued",
)
SYNC = Advice(
    "sync", "put a barrier (bar.sync, bar.warp.sync, an mbarrier) between the two accesses"
)
FENCE = Advice(
    "fence", "execute fence.proxy.async after the ordinary access and before the copy is issued"
)
SCOPE = Advice(
    "scope",
    "between CTAs use .release.cluster and .acquire.cluster, or fences of that scope around "
    "relaxed synchronisation",
)
FREE = Advice(
    "free",
    "let a thread that has waited for the copy tell the writer so (arrive, cluster barrier)",
)
BYTES = Advice("bytes", "arm the phase with exactly the bytes that its copies bring")
ARM = Advice("arm", "execute mbarrier.arrive.expect_tx once for the phase")
COPIES = Advice(
    "copies", "issue the copies that the phase counts, and check whose barrier they signal"
)
COUNT = Advice(
    "count", "check the count given to mbarrier.init, and who arrives on which CTA's barrier"
)
ENTER = Advice("enter", "put a cluster barrier at the start, before the first remote access")
LEAVE = Advice("leave", "end the kernel with a cluster barrier")
LEAVE_LATER = Advice(
    "leave-later",
    "end the kernel with a cluster barrier, reached after the receiver has waited",
)
STEPS = Advice("steps", "look for an endless loop, or raise the limit (max_steps, or --max-steps)")
SECONDS = Advice(
    "seconds", "use a smaller problem, or raise the limit (max_seconds, or --max-seconds)"
)
KEYS = frozenset(
    advice.key
    for advice in (
        WAIT, WAIT_FIRST, ACKNOWLEDGE, SYNC, FENCE, SCOPE, FREE, BYTES, ARM, COPIES, COUNT, ENTER,
        LEAVE, LEAVE_LATER, STEPS, SECONDS,
    )
)  # fmt: skip
