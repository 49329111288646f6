# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs next, and when copies land.

`eager` runs a fragment until it blocks, and lands a copy at once. `late` lands copies only when
nothing else can run. `random` switches after any step that others can see, and lands pieces of
copies, cut at 16 bytes, at any moment.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from tile_emulator._tile_emulator import Counter
from tile_emulator.advice import SECONDS, STEPS
from tile_emulator.engine.operations import PIECE_BYTES, Operation
from tile_emulator.errors import Fault
from tile_emulator.machine.deadlock import cause, deadlock
from tile_emulator.machine.mbarrier import MBarrier
from tile_emulator.machine.warp import ARRIVED, BLOCKED, DONE, YIELD, Fragment, Warp

if TYPE_CHECKING:
    from tile_emulator.machine.cluster import Cluster

_QUANTUM = 4096
_LONGEST_POLL = 64
_POLLS_IN_A_ROW = 16
_POLLS_BEFORE_LANDING = 64
_POLLS_BEFORE_RELEASE = 16
_POLLS_BEFORE_DEADLOCK = 2048
_MOST_STATES = 4096


class Budget:
    """Limits of one launch; `steps` counts instructions of warps."""

    def __init__(self, max_steps: int, max_seconds: float) -> None:
        self.max_steps = max_steps
        self.max_seconds = max_seconds
        self.counter = Counter()
        self.end = time.monotonic() + max_seconds

    @property
    def steps(self) -> int:
        return self.counter.steps

    def check(self) -> None:
        """Raise Fault when a limit is reached."""
        if self.steps > self.max_steps:
            raise Fault(
                "step-limit",
                f"the launch has run {self.steps} warp instructions, the limit is {self.max_steps}",
                STEPS,
            )
        if time.monotonic() > self.end:
            raise Fault(
                "time-limit",
                f"the launch has run for {self.max_seconds:g} seconds",
                SECONDS,
            )


class Scheduler:
    """Runs the fragments of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.budget = cluster.launch.budget
        policy = cluster.launch.policy
        self.lands = policy.name
        self.random = random.Random(f"{policy.seed}") if policy.name == "random" else None
        self.ready: list[Fragment] = []
        self.waiting: list[Fragment] = []
        self.flying: list[Operation] = []
        self.current: Fragment | None = None
        self.idle = 0
        self.stuck_at = -1

    @property
    def writes(self) -> int:
        """What other threads may see is counted."""
        return self.cluster.writes

    @writes.setter
    def writes(self, count: int) -> None:
        self.cluster.writes = count

    def add(self, fragment: Fragment) -> None:
        self.ready.append(fragment)

    def drop(self, fragment: Fragment) -> None:
        if fragment in self.ready:
            self.ready.remove(fragment)
        elif fragment in self.waiting:
            self.waiting.remove(fragment)

    def stop_current(self) -> bool:
        """Run the current fragment no more; returns false where a copy was landing instead."""
        if self.current is None:
            return False
        self.drop(self.current)
        return True

    def wake(self, key: Any) -> None:
        """Let the fragments that wait for `key` try again."""
        self.writes += 1
        woken = [f for f in self.waiting if f.wait is key or (f.also and key in f.also)]
        if woken:
            for fragment in woken:
                fragment.wait, fragment.also = None, ()
            self.waiting = [f for f in self.waiting if f.wait is not None]
            self.ready.extend(woken)

    def fails(self, w: Warp, bits: int, barrier: MBarrier) -> bool:
        """Decide whether lanes that wait are told no although the phase may be complete."""
        if self.random is not None:
            return self.random.random() < 0.3
        if self.lands == "eager":
            return False
        key = ("told no", barrier, barrier.phase)
        told = w.keep.get(key, 0)
        w.keep[key] = told | bits
        return bool(bits & ~told)

    def issue(self, operation: Operation) -> None:
        """Put a copy on its way."""
        self.writes += 1
        if self.lands == "eager":
            operation.land(0, operation.nbytes)
            operation.finish()
            return
        start, pieces = 0, []
        while start < operation.nbytes:
            stop = operation.nbytes
            if self.random is not None and self.random.random() < 0.5:
                units = -(-(stop - start) // PIECE_BYTES)
                stop = min(stop, start + PIECE_BYTES * self.random.randint(1, units))
            pieces.append((start, stop))
            start = stop
        operation.pieces = pieces
        self.flying.append(operation)

    def land_one(self) -> None:
        """Let one piece of a copy land: the oldest, or any under a random schedule."""
        if self.random is None:
            at, piece = 0, 0
        else:
            at = self.random.randrange(len(self.flying))
            piece = self.random.randrange(len(self.flying[at].pieces))
        operation = self.flying[at]
        start, stop = operation.pieces.pop(piece)
        self.writes += 1
        if operation.land(start, stop):
            del self.flying[at]
            operation.finish()

    def run(self) -> None:
        """Run until every thread has ended; raises Fault."""
        while True:
            if not self.ready:
                if self.flying:
                    self.current = None
                    self.land_one()
                    continue
                if not self.waiting:
                    break
                self._stuck()
                continue
            self._check_budget()
            if self.random is None:
                fragment = self.ready[0]
                self._run(fragment, _QUANTUM)
            else:
                if self.flying and self.random.random() < 0.3:
                    self.land_one()
                    if not self.ready:
                        continue
                fragment = self.random.choice(self.ready)
                self._run(fragment, self.random.choice((1, 1, 2, 3, 8, 64)))
        while self.flying:
            self.land_one()

    def _run(self, fragment: Fragment, quantum: int) -> None:
        self.current = fragment
        warp = fragment.warp
        writes, polls = self.writes, fragment.polls
        result, left = warp.program.code.run(
            warp, fragment, warp.registers, self.budget.counter, quantum, polls + _POLLS_IN_A_ROW
        )
        if result == DONE:
            return
        if result == ARRIVED:
            warp.arrive(fragment)
            return
        if result == BLOCKED:
            self.ready.remove(fragment)
            self.waiting.append(fragment)
            return
        if result == YIELD:
            fragment.polls += 1
        self._rotate(fragment)
        fragment.quiet = 0 if fragment.polls > polls else fragment.quiet + quantum - left
        if self.writes == writes and fragment.polls > polls:
            self._idle(fragment, fragment.polls - polls)
        elif self.writes != writes or fragment.quiet > _LONGEST_POLL:
            self.idle = 0

    def _rotate(self, fragment: Fragment) -> None:
        if len(self.ready) > 1:
            self.ready.remove(fragment)
            self.ready.append(fragment)

    def _idle(self, fragment: Fragment, polls: int) -> None:
        """A fragment has only polled: when all do, copies land, or nothing ever will."""
        self.idle += polls
        if self.flying:
            if self.idle > _POLLS_BEFORE_LANDING * len(self.ready):
                self.idle = 0
                self.current = None
                self.land_one()
            return
        if self.idle > _POLLS_BEFORE_RELEASE * len(self.ready) and self._release_joins():
            self.idle = 0
        if self.idle > _POLLS_BEFORE_DEADLOCK * len(self.ready):
            self.stuck_at = self.writes
            self._repeats(fragment)
            if all(f.repeats and f.states_at == self.writes for f in self.ready):
                self._stuck()

    def _repeats(self, fragment: Fragment) -> bool:
        """Tell whether a fragment comes back to a state that it had since memory last changed.

        Then it goes round for ever; one that counts its polls, or reads the clock, does not.
        """
        if fragment.states_at != self.writes or len(fragment.states) > _MOST_STATES:
            fragment.states_at, fragment.repeats = self.writes, False
            fragment.states.clear()
        if not fragment.repeats:
            state = fragment.state()
            fragment.repeats = state in fragment.states
            fragment.states.add(state)
        return fragment.repeats

    def _release_joins(self) -> bool:
        warps = {id(f.warp): f.warp for f in self.ready + self.waiting}
        return any([warp.release_joins() for warp in warps.values()])

    def _stuck(self) -> None:
        """Nothing can go on as it is: release joins, let waits time out, or it is a deadlock."""
        self.current = None
        self.idle = 0
        self.stuck_at = self.writes
        if self._release_joins():
            return
        timed_out = [
            f for f in self.waiting if isinstance(f.wait, MBarrier) and not self._repeats(f)
        ]
        if not timed_out:
            raise deadlock(self.cluster, self.waiting + self.ready)
        for fragment in timed_out:
            # A kernel that counts its tries may trap next.
            fragment.warp.keep["timed out"] = cause(self.cluster, fragment)[0]
            fragment.wait, fragment.also, fragment.refused = None, (), True
        self.waiting = [f for f in self.waiting if f.wait is not None]
        self.ready += timed_out

    def _check_budget(self) -> None:
        try:
            self.budget.check()
        except Fault:
            if self.stuck_at == self.writes:
                raise deadlock(self.cluster, self.waiting + self.ready) from None
            raise
