# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous copies: `cp.async.bulk`, `cp.async`, `st.async`, and the groups that end them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tile_emulator.engine.groups import Groups
from tile_emulator.engine.operations import Operation
from tile_emulator.errors import Fault
from tile_emulator.instructions.barriers import (
    Places,
    check_init,
    clock_of,
    live_barrier,
    shared_addresses,
)
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.memory import elements, modifiers
from tile_emulator.instructions.reductions import Reduction, split_reduction
from tile_emulator.machine.cta import CTA, RANK_SHIFT
from tile_emulator.machine.mbarrier import MBarrier
from tile_emulator.machine.warp import BLOCKED, NEXT, Fragment, Mask, Warp, lanes_of
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

COMPLETE_TX = "mbarrier::complete_tx::bytes"


def copy(d: Decoder, ins: Instruction) -> None:
    """Dispatch `cp.async...` and `cp.reduce.async.bulk`."""
    parts = ins.parts[1:]
    if parts[:3] == ("reduce", "async", "bulk"):
        split = split_reduction(parts[3:], to_global=parts[3:4] == ("global",))
        if split is None:
            raise d.unsupported()
        bulk(d, ins, *split)
        return
    if parts[:1] != ("async",):
        raise d.unsupported()
    rest = parts[1:]
    if rest[:1] == ("bulk",):
        if rest[1:2] == ("commit_group",):
            commit(d, "bulk")
        elif rest[1:2] == ("wait_group",):
            wait(d, ins, "bulk")
        elif rest[1:2] == ("prefetch",):
            return
        else:
            bulk(d, ins, rest[1:])
    elif rest[:1] == ("commit_group",):
        commit(d, "ordinary")
    elif rest[:1] in (("wait_group",), ("wait_all",)):
        wait(d, ins, "ordinary")
    elif rest[:2] == ("mbarrier", "arrive"):
        arrive_on(d, ins)
    elif rest[:1] in (("ca",), ("cg",)):
        ordinary(d, ins)
    else:
        raise d.unsupported()


class End(NamedTuple):
    """One end of a copy: its bytes, and where they are in the cluster's shared memory, if there."""

    data: Any
    cta: CTA | None = None
    ranges: tuple[slice, ...] = ()


def place(w: Warp, lane: int, address: int, nbytes: int, align: int, local_form: bool) -> End:
    """Return the end of one lane's copy that is in shared memory."""
    cluster = w.cta.cluster
    flat = cluster.flat(
        w,
        np.array([lane]),
        np.array([address], dtype=np.uint64),
        nbytes,
        local_form,
        align,
    )
    where = slice(int(flat[0]), int(flat[0]) + nbytes)
    return End(cluster.shared[where], cluster.ctas[where.start // cluster.shared_bytes], (where,))


def place_pair(
    w: Warp,
    lane: int,
    target: int,
    barrier: int,
    nbytes: int,
    align: int,
    local_form: bool,
    name: str,
) -> tuple[End, MBarrier]:
    """Return where a copy writes and the barrier that it signals, which must be in one CTA."""
    end = place(w, lane, target, nbytes, align, local_form)
    at = place(w, lane, barrier, 8, 8, False)
    assert end.cta is not None and at.cta is not None
    if at.cta is not end.cta:
        raise Fault(
            "address",
            f"a {name} writes to CTA rank {end.cta.rank} but signals an mbarrier of CTA rank "
            f"{at.cta.rank}",
            "map the data and the barrier to the same rank with mapa",
            lane,
        )
    live = live_barrier(w, lane, at.ranges[0].start)
    check_init(w, live, clock_of(w, lane), lane)
    return end, live


def check_own_cta(w: Warp, lane: int, target: CTA | None, name: str) -> None:
    """A copy between CTAs may go to its own CTA only where there are others."""
    if target is w.cta and w.cta.cluster.size == 1:
        raise Fault(
            "address",
            f"a {name} writes to its own CTA, the only one of its cluster",
            "launch a cluster of several CTAs, or write to the buffer with ordinary stores",
            lane,
        )


def check_own_bulk(w: Warp, lane: int, source: slice, target: slice) -> None:
    """A bulk copy within one CTA works where its bytes do not overlap; PTX wants another CTA."""
    rank = w.cta.rank
    if source.start < target.stop and target.start < source.stop:
        raise Fault(
            "address",
            f"a bulk copy within CTA rank {rank} reads and writes the same bytes",
            "copy to bytes that do not overlap the source",
            lane,
        )
    if w.cta.cluster.launch.checks.strict:
        w.cta.cluster.report(
            Fault(
                "address",
                f"a bulk copy writes to its own CTA (rank {rank}), where PTX wants another one",
                "use st.async or ordinary stores within a CTA",
                lane,
            )
        )


def launch_copy(
    w: Warp,
    lane: int,
    ins: Instruction,
    name: str,
    source: End,
    target: End,
    barrier: MBarrier | None,
    async_proxy: bool,
    groups: Groups | None = None,
    reduction: Reduction | None = None,
) -> Operation:
    """Check one copy against everything known, put it on its way, and return it."""
    cluster = w.cta.cluster
    thread = w.thread0 + lane
    clock = clock_of(w, lane)
    operation = Operation(
        cluster,
        name,
        thread,
        ins,
        source.data,
        target.data,
        async_proxy=async_proxy,
        source_cta=source.cta,
        target_cta=target.cta,
        barrier=barrier,
        reduction=reduction,
        clock=clock,
    )
    number = operation.number
    for read in source.ranges:
        cluster.copy_reads(number, clock, thread, read.start, read.stop, target.cta is None)
    for written in target.ranges:
        cluster.copy_meets(number, clock, written.start, written.stop)
    if barrier is not None:
        operation.check_phase(clock)
    origin = source.ranges[0].start if source.ranges else -1
    for written in target.ranges:
        cluster.copy_writes(number, clock, thread, written.start, written.stop, origin, ins.line)
    if async_proxy or barrier is not None:
        for cta in (source.cta, target.cta):
            if cta is not None:
                cta.copies[operation.number] = operation
    cluster.epoch[thread] += np.uint32(1)
    if barrier is not None:
        barrier.on_the_way.append(operation)
    if groups is not None:
        operation.groups = groups
        groups.open.append(operation)
    cluster.scheduler.issue(operation)
    return operation


def groups_of(w: Warp, lane: int, kind: str) -> Groups:
    key = (kind, lane)
    groups = w.keep.get(key)
    if groups is None:
        groups = w.keep[key] = Groups(w.cta.cluster, kind)
    return groups


def store_to_global(
    w: Warp,
    lane: int,
    ins: Instruction,
    name: str,
    source: End,
    target: Any,
    spans: Iterable[tuple[int, int]],
    reduction: Reduction | None,
) -> None:
    """Send bytes of the own CTA to global memory in a bulk group; `spans` is where they go."""
    groups = groups_of(w, lane, "bulk")
    name += " to global memory"
    stored = launch_copy(w, lane, ins, name, source, End(target), None, True, groups, reduction)
    for start, stop in spans:
        w.cta.cluster.begin_writing(stored.number, start, stop)


def load_from_global(w: Warp, lane: int, spans: Iterable[tuple[int, int]], source: Any) -> End:
    """Return the end of a bulk copy that is in global memory, at `spans`."""
    for start, stop in spans:
        w.cta.cluster.check_copied(w.thread0 + lane, start, stop - start)
    return End(source)


def receivers(target: int, barrier: int, mask: int | None) -> list[tuple[int, int]]:
    """Return the targets and barriers of a copy: with a mask those at its CTAs' same offsets."""
    if mask is None:
        return [(target, barrier)]
    low = (1 << RANK_SHIFT) - 1
    ranks = [rank << RANK_SHIFT for rank in range(16) if mask >> rank & 1]
    return [(target & low | rank, barrier & low | rank) for rank in ranks]


def check_bulk(lane: int, nbytes: int, *addresses: int) -> None:
    """The rules of `cp.async.bulk`: sizes and addresses are multiples of 16."""
    if nbytes <= 0 or nbytes % 16:
        raise Fault(
            "address",
            f"a bulk copy of {nbytes} bytes, it must be a positive multiple of 16",
            "cut the tile into chunks of a multiple of 16 bytes",
            lane,
        )
    for address in addresses:
        if address % 16:
            raise Fault(
                "address",
                f"a bulk copy uses address 0x{address:x}, it must be a multiple of 16",
                "align the buffers and the steps of the chunks to 16 bytes",
                lane,
            )


def bulk(
    d: Decoder, ins: Instruction, parts: tuple[str, ...], reduction: Reduction | None = None
) -> None:
    """`cp.async.bulk` between shared memories, and between shared and global memory.

    With a `reduction` it is `cp.reduce.async.bulk`, which reads the CTA's own shared memory only.
    """
    name = "bulk reduction" if reduction else "bulk copy"
    if len(parts) < 3:
        raise d.unsupported()
    to, source_space = parts[0], parts[1]
    rest = set(parts[2:])
    multicast = "multicast::cluster" in rest
    hint = "L2::cache_hint" in rest
    if rest - {COMPLETE_TX, "bulk_group", "multicast::cluster", "L2::cache_hint"}:
        raise d.unsupported()
    operands = list(ins.operands)
    if hint:
        operands.pop()
    target = d.address(operands[0])
    source = d.address(operands[1])
    size = d.source(operands[2], "u32")
    barrier = d.address(operands[3]) if COMPLETE_TX in rest else None
    mask = d.source(operands[4], "u16") if multicast else None
    between = to == "shared::cluster" and source_space == "shared::cta"
    load = to in ("shared::cluster", "shared::cta") and source_space == "global"
    store = to == "global" and source_space == "shared::cta"
    if reduction is not None and (load or multicast):
        raise d.unsupported()
    if not (between or load or store) or (barrier is None) == (not store):
        raise d.unsupported()

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        targets, sources = target(w), source(w)
        barriers = barrier(w) if barrier is not None else None
        for lane in lanes_of(m).tolist():
            nbytes = int(w.u[size][lane])
            to_address, from_address = int(targets[lane]), int(sources[lane])
            check_bulk(lane, nbytes, to_address, from_address)
            memory = w.cta.cluster.launch.memory
            if store:
                data = memory.bytes_at(to_address, nbytes)
                own = place(w, lane, from_address, nbytes, 16, True)
                span = (to_address, to_address + nbytes)
                store_to_global(w, lane, ins, name, own, data, [span], reduction)
                continue
            assert barriers is not None
            ranks = None if mask is None else int(w.u[mask][lane])
            for one_target, one_barrier in receivers(to_address, int(barriers[lane]), ranks):
                there, live = place_pair(
                    w, lane, one_target, one_barrier, nbytes, 16, to == "shared::cta", name
                )
                if between:
                    check_own_cta(w, lane, there.cta, name)
                    origin = place(w, lane, from_address, nbytes, 16, True)
                    if origin.cta is there.cta:
                        check_own_bulk(w, lane, origin.ranges[0], there.ranges[0])
                else:
                    span = (from_address, from_address + nbytes)
                    data = memory.bytes_at(from_address, nbytes)
                    origin = load_from_global(w, lane, [span], data)
                launch_copy(w, lane, ins, name, origin, there, live, True, None, reduction)

    d.emit_visible(step)


def reduce_async(d: Decoder, ins: Instruction) -> None:
    """`red.async`: as `st.async`, combining the register with what is there."""
    split = split_reduction(ins.parts[2:], to_global=False)
    if split is None or split[0] != ("relaxed", "cluster", "shared::cluster", COMPLETE_TX):
        raise d.unsupported()
    registers_to_cluster(d, ins, ("shared::cluster", split[1].kind), split[1])


def store_async(d: Decoder, ins: Instruction) -> None:
    """`st.async`: registers into shared memory of the cluster, with bytes counted on a barrier."""
    parts = tuple(p for p in ins.parts[2:] if p != COMPLETE_TX)
    if len(parts) + 3 != len(ins.parts):
        raise d.unsupported()
    registers_to_cluster(d, ins, parts)


def registers_to_cluster(
    d: Decoder, ins: Instruction, parts: tuple[str, ...], reduction: Reduction | None = None
) -> None:
    """Send what registers hold to shared memory of the cluster."""
    name = "red.async" if reduction else "st.async"
    how = modifiers(d, parts)
    width = (type_bits(how.kind) or 0) // 8
    nbytes = width * how.count
    if nbytes not in (4, 8, 16) or how.space not in ("shared::cluster", "generic"):
        raise d.unsupported()
    generic = how.space == "generic"
    target = d.address(ins.operands[0])
    sources = [d.source(o, how.kind) for o in elements(ins.operands[1], how.count)]
    barrier = d.address(ins.operands[2])

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        lanes = lanes_of(m)
        targets = shared_addresses(target(w)[lanes], lanes, generic)
        barriers = shared_addresses(barrier(w)[lanes], lanes, generic)
        values = np.stack([w.u[s][lanes] for s in sources], axis=1).view(np.uint8)
        for i, lane in enumerate(lanes.tolist()):
            to_address, barrier_address = int(targets[i]), int(barriers[i])
            there, live = place_pair(
                w, lane, to_address, barrier_address, nbytes, nbytes, False, name
            )
            check_own_cta(w, lane, there.cta, name)
            launch_copy(w, lane, ins, name, End(values[i]), there, live, False, None, reduction)

    d.emit_visible(step)


def ordinary(d: Decoder, ins: Instruction) -> None:
    """`cp.async`: 4, 8 or 16 bytes from global to shared memory, the rest zero-filled."""
    if not any(p.startswith("shared") for p in ins.parts) or "global" not in ins.parts:
        raise d.unsupported()
    operands = [o for o in ins.operands]
    if "L2::cache_hint" in ins.parts:
        operands.pop()
    target = d.address(operands[0])
    source = d.address(operands[1])
    size = d.source(operands[2], "u32")
    used = d.source(operands[3], "u32") if len(operands) > 3 else size

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        targets, sources = target(w), source(w)
        for lane in lanes_of(m).tolist():
            nbytes, wanted = int(w.u[size][lane]), int(w.u[used][lane])
            if nbytes not in (4, 8, 16) or wanted > nbytes:
                raise Fault("address", f"cp.async of {nbytes} bytes", "use 4, 8 or 16", lane)
            address = int(sources[lane])
            if address % nbytes:
                raise Fault(
                    "address",
                    f"cp.async reads at 0x{address:x}, it must be a multiple of {nbytes}",
                    "align the source",
                    lane,
                )
            data = np.zeros(nbytes, dtype=np.uint8)
            if wanted:
                data[:wanted] = w.cta.cluster.launch.memory.bytes_at(address, wanted)
            there = place(w, lane, int(targets[lane]), nbytes, nbytes, True)
            groups = groups_of(w, lane, "ordinary")
            launch_copy(w, lane, ins, "cp.async", End(data), there, None, False, groups)

    d.emit_visible(step)


def commit(d: Decoder, kind: str) -> None:
    """`commit_group`."""

    def step(w: Warp, m: Mask) -> None:
        for lane in lanes_of(m).tolist():
            groups_of(w, lane, kind).commit()

    d.emit_visible(step)


def wait(d: Decoder, ins: Instruction, kind: str) -> None:
    """`wait_group` and `wait_all`."""
    everything = "wait_all" in ins.parts
    reads = "read" in ins.parts
    leave = None if everything else d.source(ins.operands[0], "u32")

    def step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        lanes = lanes_of(m).tolist()
        for lane in lanes:
            groups = groups_of(w, lane, kind)
            if everything and (groups.open or groups.tracked):
                groups.commit()
            if not groups.ready(0 if leave is None else int(w.u[leave][lane])):
                fragment.wait = groups
                return BLOCKED
        for lane in lanes:
            groups = groups_of(w, lane, kind)
            clock = groups.observe(0 if leave is None else int(w.u[leave][lane]), reads)
            if clock is not None:
                w.cta.cluster.acquire(w, 1 << lane, clock)
        return NEXT

    d.control(step)


def arrive_on(d: Decoder, ins: Instruction) -> None:
    """`cp.async.mbarrier.arrive`: arrive once all earlier `cp.async` of the thread are done."""
    increments = "noinc" not in ins.parts
    places = Places(d, ins, 0)

    def step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        for lane in lanes_of(m).tolist():
            groups = groups_of(w, lane, "ordinary")
            if not groups.all_landed():
                fragment.wait = groups
                return BLOCKED
        for lane, barrier in places.barriers(w, m):
            clock = groups_of(w, lane, "ordinary").so_far()
            known = clock_of(w, lane)
            given = w.cta.cluster.release(w, 1 << lane).joined(clock)
            # Without `.noinc` the count that this arrival takes was added for it.
            barrier.pending += increments
            barrier.arrive(1, given, given, known, w.thread0 + lane, lane)
        return NEXT

    d.control(step)
