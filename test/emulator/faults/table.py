# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The faults: one edit of a correct kernel each, and the kind under which it must be reported.

`old` stands exactly once in the kernel's text; lines keep their indentation. A fault of `strict`
checks passes the default ones, with the right bytes.
"""

from faults.barriers import CTA_MBARRIER, GLOBAL_BULK, NAMED_BARRIERS, REINIT
from faults.fault import Fault
from faults.many_tiles import CHUNKS, FAN_IN, FOUR_BARRIERS
from faults.one_shot import ONE_SHOT
from faults.rings import ACKNOWLEDGED_EXIT, RING
from faults.stores import HAND_OVER, RELAY, ST_ASYNC

__all__ = ["FAULTS", "Fault"]

FAULTS = [
    *ONE_SHOT,
    *RING,
    *FOUR_BARRIERS,
    *FAN_IN,
    *CHUNKS,
    *ST_ASYNC,
    *RELAY,
    *HAND_OVER,
    *REINIT,
    *ACKNOWLEDGED_EXIT,
    *NAMED_BARRIERS,
    *GLOBAL_BULK,
    *CTA_MBARRIER,
]
