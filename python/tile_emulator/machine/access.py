# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the core asks of Python for loads, stores and atomics: reports of bad addresses, and what is
released and acquired through memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_emulator import advice
from tile_emulator.errors import Fault
from tile_emulator.instructions.program import SHARED_BASE
from tile_emulator.machine.cta import NO_RANK, RANK_SHIFT
from tile_emulator.machine.fences import Published
from tile_emulator.machine.memory import SHARED_WINDOW
from tile_emulator.machine.warp import LANES, Warp
from tile_emulator.order.clock import joined

if TYPE_CHECKING:
    from tile_emulator.machine.cluster import Cluster

_NEAR = 1 << 20
_USES = ("read", "written", "copied")


def misaligned(address: int, nbytes: int, lane: int) -> Fault:
    """Return the fault of an address that is no multiple of the access."""
    return Fault(
        "address",
        f"address 0x{address:x} is not a multiple of {nbytes}",
        "align the buffer and the steps to the access",
        lane,
    )


def outside_private(nbytes: int, offset: int, size: int, lane: int) -> Fault:
    """Return the fault of an access beyond the local memory of a thread."""
    return Fault(
        "address",
        f"{nbytes} bytes at local or parameter offset {offset} are outside of {size} bytes",
        "check the index into the local array or the parameter",
        lane,
    )


class Addresses:
    """Reports the bad addresses of one cluster; the core calls these functions by their names."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def misaligned_address(self, thread: int, address: int, nbytes: int) -> None:
        raise misaligned(address & (2**64 - 1), nbytes, thread % LANES)

    def outside_of_private(self, thread: int, offset: int, nbytes: int, size: int) -> None:
        raise outside_private(nbytes, offset, size, thread % LANES)

    def outside_of_global(self, thread: int, address: int, nbytes: int) -> None:
        memory = self.cluster.launch.memory
        raise memory.outside(address & (2**64 - 1), nbytes, thread % LANES)

    def bad_shared_address(
        self, thread: int, address: int, nbytes: int, align: int, local_form: int
    ) -> None:
        cluster, lane = self.cluster, thread % LANES
        own = cluster.warp_of(thread).cta
        address &= 2**64 - 1
        rank, offset = address >> RANK_SHIFT, (address & ((1 << RANK_SHIFT) - 1)) - SHARED_BASE
        before = (own.shared_address(0) - address) & 0xFFFFFFFF
        if rank != own.rank and before <= _NEAR:
            raise Fault(
                "address",
                f"{nbytes} bytes lie {before} bytes before the CTA's shared memory",
                "check the index, which may be negative",
                lane,
            )
        if rank >= cluster.size:
            raise Fault(
                "address",
                f"there is no CTA rank {'above 254' if rank >= NO_RANK else rank} in a cluster "
                f"of {cluster.size} (shared address 0x{address:x})",
                "check the rank given to mapa, and that the address is a shared one",
                lane,
            )
        if rank != own.rank and local_form:
            raise Fault(
                "address",
                f"a shared::cta instruction gets an address of CTA rank {rank}",
                "use the shared::cluster form for a mapped address, or the local address",
                lane,
            )
        if offset < 0 or offset + nbytes > cluster.launch.shared_bytes:
            raise Fault(
                "address",
                f"{nbytes} bytes at shared offset {offset} are outside of the CTA's "
                f"{cluster.launch.shared_bytes} bytes",
                "check the index and the shared memory given at launch",
                lane,
            )
        raise Fault(
            "address",
            f"shared offset {offset} is not a multiple of {align}",
            "align the buffer and the steps to the access",
            lane,
        )

    def peer_not_started(self, thread: int, rank: int) -> None:
        self.cluster.report(
            Fault(
                "not-started",
                f"memory of CTA rank {rank} is used before that CTA is known to run",
                advice.ENTER,
                thread % LANES,
            )
        )

    def peer_has_exited(self, thread: int, rank: int) -> None:
        self.cluster.report(
            Fault(
                "early-exit",
                f"memory of CTA rank {rank} is used after that CTA has exited",
                advice.LEAVE,
                thread % LANES,
            )
        )

    def global_under_copy(self, thread: int, address: int, number: int, use: int) -> None:
        copy = self.cluster.operations[number]
        self.cluster.report(
            Fault(
                "in-flight",
                f"global memory at 0x{address & (2**64 - 1):x} is {_USES[use]} while a "
                f"{copy.name} may still write it",
                "let the thread that issued it wait by cp.async.bulk.wait_group, without "
                ".read, and then tell the others",
                thread % LANES,
                copy.notes(),
            )
        )


# Synchronisation through memory: release, acquire, and fences around relaxed accesses.


def sync_keys(addresses: list[int], space: str) -> set[int]:
    """Return generic addresses: two threads may name one flag in different spaces."""
    return {a | SHARED_WINDOW for a in addresses} if space.startswith("shared") else set(addresses)


def publish(w: Warp, bits: int, addresses: set[int], release: bool, wide: bool) -> None:
    """A strong store or atomic: who reads it with acquire knows what was released before."""
    cluster = w.cta.cluster
    near, far = w.fences.any, w.fences.wide if wide else None
    if release:
        clock = cluster.release(w, bits)
        near = joined(clock, near)
        far = joined(clock, far) if wide else None
    if near is None:
        return
    for address in addresses:
        published = cluster.sync_clocks.setdefault(address, Published())
        published.add(w.cta.rank, near, far, cluster.size == 1)
    cluster.has_published = True


def observe(w: Warp, bits: int, addresses: set[int], acquire: bool, wide: bool) -> None:
    """A strong load or atomic: learn at once (acquire), or at the next fence."""
    cluster = w.cta.cluster
    for address in addresses:
        published = cluster.sync_clocks.get(address)
        if published is None:
            continue
        clock = published.seen_from(w.cta.rank, wide)
        if acquire and clock is not None:
            cluster.acquire(w, bits, clock)
        elif not acquire:
            w.fences.see(published.seen_from(w.cta.rank, False), clock)


def thread_fence(w: Warp, bits: int, wide: bool) -> None:
    """`fence` and `membar`: order what came before with strong accesses that follow."""
    cluster = w.cta.cluster
    seen = w.fences.take_seen(wide)
    if seen is not None:
        cluster.acquire(w, bits, seen)
    w.fences.execute(cluster.release(w, bits), wide)
    w.has_fence = True
