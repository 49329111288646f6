# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fault, and the pieces of PTX that faults edit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What is broken in `kernel`, by replacing `old` by `new`."""

    name: str
    kernel: str
    kind: str
    why: str
    old: str
    new: str
    strict: bool = False


def fault(name: str, kernel: str, kind: str, why: str, old: str, new: str = "") -> Fault:
    """Describe one fault of the default checks; without `new` the text is deleted."""
    return Fault(name, kernel, kind, why, old, new)


def strict(name: str, kernel: str, kind: str, why: str, old: str, new: str = "") -> Fault:
    """Describe one fault that only strict checks report."""
    return Fault(name, kernel, kind, why, old, new, strict=True)


BULK = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
ARM = "mbarrier.arrive.expect_tx.shared::cta.b64 _,"
WAIT = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %ready,"
ACK = "mbarrier.arrive.release.cluster.shared::cluster.b64 _,"
ENTRY = """\
  bar.sync 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
"""
EXIT = """\
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
"""
