# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One launch: check it, run its clusters one after another, and turn faults into reports."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator.checks import Checks
from tile_emulator.errors import EmulationError, Fault, LaunchError
from tile_emulator.instructions.program import Program
from tile_emulator.machine.cluster import Cluster
from tile_emulator.machine.memory import GlobalMemory
from tile_emulator.machine.scheduler import Budget
from tile_emulator.machine.special import thread_axis
from tile_emulator.machine.warp import first_lane
from tile_emulator.names import SharedName

MAX_SHARED_BYTES = 232448
MAX_CLUSTER = 16

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Policy:
    """How threads and copies interleave: `eager`, `late`, or `random` with a seed."""

    name: str
    seed: str = ""


@dataclass
class Report:
    """What a launch of `kernel` did.

    `steps` are instructions that warps executed, `clusters` those that ran, `copies` the bulk
    copies, `copied_bytes` their bytes, and `interleavings` the schedules that were tried. `reports`
    are the errors that were kept for the end.
    """

    kernel: str
    steps: int = 0
    clusters: int = 0
    copies: int = 0
    copied_bytes: int = 0
    interleavings: int = 1
    reports: tuple[EmulationError, ...] = ()


@dataclass
class Launch:
    """What the clusters of one launch have in common."""

    program: Program
    memory: GlobalMemory
    grid: Triple
    block: Triple
    cluster: Triple
    explicit_cluster: bool
    dynamic_bytes: int
    shared_bytes: int
    params: NDArray[np.uint8]
    policy: Policy
    checks: Checks
    kept: dict[tuple[str, int | None], EmulationError] | None
    names: list[tuple[int, SharedName]]
    words: Mapping[str, str]
    budget: Budget
    number: int

    @cached_property
    def thread_axes(self) -> list[NDArray[np.uint64]]:
        """The coordinates of the threads of a CTA, those that fill its last warp included."""
        x, y, z = self.block
        linear = np.arange(-(-(x * y * z) // 32) * 32, dtype=np.uint64)
        return [thread_axis(self.block, linear, i) for i in range(3)]

    def run(self, report: Report) -> None:
        """Run all clusters; raises EmulationError."""
        steps = tuple(g // c for g, c in zip(self.grid, self.cluster, strict=False))
        with np.errstate(all="ignore"):
            for z in range(steps[2]):
                for y in range(steps[1]):
                    for x in range(steps[0]):
                        cluster = Cluster(self, (x, y, z))
                        self._run_cluster(cluster)
                        report.clusters += 1
                        report.copies += len(cluster.operations)
                        report.copied_bytes += sum(o.nbytes for o in cluster.operations)
        report.steps = self.budget.steps

    def _run_cluster(self, cluster: Cluster) -> None:
        try:
            cluster.scheduler.run()
        except Fault as fault:
            error = self._report(cluster, fault)
            raise self._cause(cluster, fault) or error from None
        if self.kept is not None:
            for deferred in cluster.deferred:
                self.keep(self._error(cluster, deferred.fault, deferred.at, deferred.thread))
        elif cluster.deferred:
            raise self._deferred(cluster)

    def named(self, offset: int) -> str:
        """Return what the byte at a shared offset is called, in brackets, or nothing."""
        for start, name in self.names:
            if start <= offset < start + name.nbytes:
                return f" ({name.at(offset - start)})"
        return ""

    def keep(self, error: EmulationError) -> None:
        """Keep the first report of each kind at each instruction."""
        assert self.kept is not None
        self.kept.setdefault((error.kind, error.ptx_line), error)

    def _cause(self, cluster: Cluster, fault: Fault) -> EmulationError | None:
        """Find what a fault of arrivals follows from, where bytes were read too early before it.

        The threads at fault stop and the others go on: who writes those bytes explains more.
        """
        while fault.kind == "arrivals" and cluster.deferred and cluster.scheduler.stop_current():
            try:
                cluster.scheduler.run()
            except Fault as later:
                fault = later
            else:
                return None
        return self._report(cluster, fault) if fault.kind in ("race", "in-flight") else None

    def _report(self, cluster: Cluster, fault: Fault) -> EmulationError:
        written_later = any(d.written_later for d in cluster.deferred)
        ends = ("deadlock", "step-limit", "time-limit", "trap")
        if cluster.deferred and not written_later and fault.kind in ends:
            return self._deferred(cluster)
        return self.located(cluster, fault)

    def located(self, cluster: Cluster, fault: Fault) -> EmulationError:
        """Return the report of a fault of what runs now."""
        fragment = cluster.scheduler.current
        at, thread = fault.at, fault.thread
        if fragment is not None and thread is None:
            at = fragment.warp.at
            lane = first_lane(fragment.bits) if fault.lane is None else fault.lane
            thread = fragment.warp.thread0 + lane
        return self._error(cluster, fault, at, thread)

    def _deferred(self, cluster: Cluster) -> EmulationError:
        deferred = next((d for d in cluster.deferred if d.where.size), cluster.deferred[0])
        return self._error(cluster, deferred.fault, deferred.at, deferred.thread)

    def _error(
        self, cluster: Cluster, fault: Fault, at: object, thread: int | None
    ) -> EmulationError:
        from tile_emulator.ptx.module import Instruction

        cta = position = None
        if thread is not None:
            owner, position = cluster.locate(thread)
            cta = owner.ctaid
        ins = at if isinstance(at, Instruction) else None
        return EmulationError(
            fault.kind,
            fault.message,
            advice=self.words.get(getattr(fault.advice, "key", ""), str(fault.advice)),
            ptx_line=ins.line if ins else None,
            ptx_text=self.program.lines.text(ins.line) if ins else "",
            source=ins.source if ins else None,
            cta=cta,
            thread=position,
            kernel=self.program.kernel.name,
            notes=fault.notes,
        )


def triple(value: Any, name: str) -> Triple:
    """Read a dimension given as a number or up to three; raises TypeError and LaunchError."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be one to three ints, got {value!r}")
    try:
        values = [operator.index(v) for v in (value if isinstance(value, Iterable) else [value])]
    except TypeError:
        raise TypeError(f"{name} must be one to three ints, got {value!r}") from None
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise LaunchError(f"{name} must be one to three positive numbers, got {value!r}")
    x, y, z = [*values, 1, 1][:3]
    return x, y, z


def check_launch(program: Program, grid: Triple, block: Triple, cluster: Triple) -> None:
    """Raise LaunchError where dimensions contradict each other, the kernel or the hardware."""
    kernel = program.kernel
    threads = block[0] * block[1] * block[2]
    ctas = cluster[0] * cluster[1] * cluster[2]
    where = f"kernel '{kernel.name}':"
    if threads > 1024 or block[2] > 64:
        raise LaunchError(
            f"{where} block {block} has {threads} threads, the limit is 1024 (64 in z)"
        )
    if ctas > MAX_CLUSTER:
        raise LaunchError(f"{where} cluster {cluster} has {ctas} CTAs, the limit is {MAX_CLUSTER}")
    for axis, g, c in zip("xyz", grid, cluster, strict=False):
        if g % c:
            raise LaunchError(f"{where} grid {axis} of {g} is not divisible by the cluster's {c}")
    if kernel.reqntid is not None and kernel.reqntid != block:
        raise LaunchError(f"kernel '{kernel.name}' needs block {kernel.reqntid}, got {block}")
    if kernel.maxntid is not None:
        x, y, z = kernel.maxntid
        if threads > x * y * z:
            raise LaunchError(
                f"kernel '{kernel.name}' allows {x * y * z} threads a block, got {threads}"
            )
    needs = kernel.reqnctapercluster
    if needs is not None and needs != cluster:
        raise LaunchError(f"kernel '{kernel.name}' needs cluster {needs}, got {cluster}")
