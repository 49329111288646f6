# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ordinary loads and stores of a warp, in any state space, with the checks that belong to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator.errors import Fault
from tile_emulator.instructions.slots import UNSIGNED
from tile_emulator.machine.fences import Published, joined
from tile_emulator.machine.memory import PARAM_WINDOW, SHARED_WINDOW, WINDOW_MASK, WINDOW_SHIFT
from tile_emulator.order.clock import Clock

if TYPE_CHECKING:
    from tile_emulator.machine.warp import Warp

Lanes = NDArray[np.intp]
Addresses = NDArray[np.uint64]
_WINDOWS = {0: "global", 1: "shared::cluster", 2: "local", 3: "param"}
_COLUMNS = {n: np.arange(n) for n in (1, 2, 4, 8)}


def check_alignment(addresses: Addresses, nbytes: int, lanes: Lanes) -> None:
    """Raise Fault where an address is not a multiple of the access."""
    if nbytes > 1:
        low = addresses & np.uint64(nbytes - 1)
        if low.any():
            i = int(np.argmax(low != 0))
            raise Fault(
                "address",
                f"address 0x{int(addresses[i]):x} is not a multiple of {nbytes}",
                "align the buffer and the steps to the access",
                int(lanes[i]),
            )


def split_windows(addresses: Addresses) -> list[tuple[str, Any, Addresses]]:
    """Sort generic addresses by space: (space, which lanes, addresses within the space)."""
    window = addresses >> WINDOW_SHIFT
    first = int(window[0])
    if first == 0 and not window.any():
        return [("global", slice(None), addresses)]
    parts = []
    for number in np.unique(window).tolist():
        space = _WINDOWS.get(number, "global")
        which = window == number
        inside = addresses[which]
        if number in (1, 2):
            inside = inside & WINDOW_MASK
        parts.append((space, which, inside))
    return parts


def load(
    w: Warp, lanes: Lanes, addresses: Addresses, space: str, width: int, count: int, strong: int
) -> NDArray[Any]:
    """Return the elements at `addresses`, of shape (lanes, count)."""
    nbytes = width * count
    if space[0] == "s":
        cluster = w.cta.cluster
        flat = cluster.flat(w, lanes, addresses, nbytes, space != "shared::cluster")
        cluster.shadow.read(w, lanes, flat, nbytes, strong)
        view = cluster.views[width]
        index = flat // width
        if count == 1:
            return view[index][:, None]  # type: ignore[no-any-return]
        return view[index[:, None] + _COLUMNS[count]]  # type: ignore[no-any-return]
    if space == "global":
        check_alignment(addresses, nbytes, lanes)
        if w.cta.cluster.unwritten:
            w.cta.cluster.check_unwritten(addresses, nbytes, lanes, "read")
        return w.cta.cluster.launch.memory.gather(addresses, width, count)
    if space == "generic":
        parts = split_windows(addresses)
        if len(parts) == 1:
            space, _, inside = parts[0]
            return load(w, lanes, inside, space, width, count, strong)
        result = np.zeros((len(lanes), count), dtype=UNSIGNED[8 * width])
        for space, which, inside in parts:
            result[which] = load(w, lanes[which], inside, space, width, count, strong)
        return result
    if space == "param" and int(addresses[0]) >= PARAM_WINDOW:
        data = w.cta.cluster.launch.params
        offsets = (addresses & WINDOW_MASK).astype(np.intp)
        return _pick(
            data[None, :], np.zeros(len(lanes), dtype=np.intp), offsets, width, count, lanes
        )
    offsets = (addresses & WINDOW_MASK).astype(np.intp)
    return _pick(w.local, lanes, offsets, width, count, lanes)


def _pick(
    data: NDArray[np.uint8], rows: Lanes, offsets: Lanes, width: int, count: int, lanes: Lanes
) -> NDArray[Any]:
    _check_private(data, offsets, width, count, lanes)
    view = data.view(UNSIGNED[8 * width])
    index = offsets // width
    picked: NDArray[Any] = view[rows[:, None], index[:, None] + np.arange(count)]
    return picked


def _check_private(
    data: NDArray[np.uint8], offsets: Lanes, width: int, count: int, lanes: Lanes
) -> None:
    bad = (offsets < 0) | (offsets + width * count > data.shape[1])
    if bad.any():
        i = int(np.argmax(bad))
        raise outside_private(width * count, int(offsets[i]), data.shape[1], int(lanes[i]))
    check_alignment(offsets.astype(np.uint64), width * count, lanes)


def outside_private(nbytes: int, offset: int, size: int, lane: int) -> Fault:
    """Return the fault of an access beyond the local memory of a thread."""
    return Fault(
        "address",
        f"{nbytes} bytes at local or parameter offset {offset} are outside of {size} bytes",
        "check the index into the local array or the parameter",
        lane,
    )


def store(
    w: Warp,
    lanes: Lanes,
    addresses: Addresses,
    space: str,
    width: int,
    values: NDArray[Any],
    strong: int,
) -> None:
    """Store `values`, of shape (lanes, count), at `addresses`."""
    count = values.shape[1]
    nbytes = width * count
    cluster = w.cta.cluster
    if space[0] == "s":
        flat = cluster.flat(w, lanes, addresses, nbytes, space != "shared::cluster")
        raw = np.ascontiguousarray(values).view(np.uint8)
        cluster.shadow.write(w, lanes, flat, nbytes, raw, strong)
        view = cluster.views[width]
        index = flat // width
        if count == 1:
            view[index] = values[:, 0]
        else:
            view[index[:, None] + _COLUMNS[count]] = values
        cluster.scheduler.writes += 1
    elif space == "global":
        check_alignment(addresses, nbytes, lanes)
        if cluster.unwritten:
            cluster.check_unwritten(addresses, nbytes, lanes, "written")
        cluster.launch.memory.scatter(addresses, width, values)
        cluster.scheduler.writes += 1
    elif space == "generic":
        for space, which, inside in split_windows(addresses):
            store(w, lanes[which], inside, space, width, values[which], strong)
    else:
        offsets = (addresses & WINDOW_MASK).astype(np.intp)
        _check_private(w.local, offsets, width, count, lanes)
        view = w.local.view(UNSIGNED[8 * width])
        view[lanes[:, None], (offsets // width)[:, None] + np.arange(count)] = values


# Synchronisation through memory: release, acquire, and fences around relaxed accesses.


def sync_keys(addresses: Addresses, space: str) -> Addresses:
    """Return generic addresses: two threads may name one flag in different spaces."""
    return addresses | np.uint64(SHARED_WINDOW) if space.startswith("shared") else addresses


def publish(w: Warp, bits: int, addresses: Addresses, release: bool, wide: bool) -> None:
    """A strong store or atomic: who reads it with acquire knows what was released before."""
    cluster = w.cta.cluster
    near, far = w.fences.any, w.fences.wide if wide else None
    if release:
        clock = Clock(cluster.release(w, bits))
        near = joined(clock, near)
        far = joined(clock, far) if wide else None
    if near is None:
        return
    for address in set(addresses.tolist()):
        published = cluster.sync_clocks.setdefault(address, Published())
        published.add(w.cta.rank, near, far, cluster.size == 1)


def observe(w: Warp, bits: int, addresses: Addresses, acquire: bool, wide: bool) -> None:
    """A strong load or atomic: learn at once (acquire), or at the next fence."""
    cluster = w.cta.cluster
    if not cluster.sync_clocks:
        return
    for address in set(addresses.tolist()):
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
    w.fences.execute(Clock(cluster.release(w, bits)), wide)
