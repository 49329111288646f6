# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that PTX declares and the driver provides: printf, assertions, the kernels' heap."""

from __future__ import annotations

import re
import struct
import sys
from typing import Any

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.machine.access import outside_private
from tile_emulator.machine.memory import LOCAL_WINDOW
from tile_emulator.machine.warp import Mask, Warp, lanes_of
from tile_emulator.ptx.module import Instruction, Operand, Sym

# Widths of more digits are left as they stand: nobody pads to a thousand columns.
_FORMAT = re.compile(r"%[-+ #0]*\d{0,3}(?:\.\d{1,3})?(?:hh|h|ll|l|z|t|j)?([diouxXeEfFgGcsp%])")
_PARAMETERS = {"vprintf": 2, "__assertfail": 5, "malloc": 1, "free": 1}


def system_call(
    d: Decoder,
    ins: Instruction,
    name: str,
    returns: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
) -> None:
    """Emit the call of a function that only the driver has; raises PTXError for others."""
    offsets = [d.place(a.name)[1] for a in arguments if isinstance(a, Sym)]
    wanted = _PARAMETERS.get(name)
    if wanted is None:
        raise d.error(f"unsupported call of the undefined function '{name}'")
    if len(offsets) != wanted:
        raise d.error(f"'{name}' takes {wanted} parameters, got {len(offsets)}")
    result = d.place(returns[0].name)[1] if returns and isinstance(returns[0], Sym) else None
    if name == "malloc":

        def allocate(w: Warp, m: Mask) -> None:
            memory = w.cta.cluster.launch.memory
            for lane in lanes_of(m).tolist():
                address = memory.malloc(_pointer(w, lane, offsets[0]))
                if result is not None:
                    w.local[lane, result : result + 8] = list(address.to_bytes(8, "little"))

        d.emit_visible(allocate)
    elif name == "free":

        def release(w: Warp, m: Mask) -> None:
            w.at = ins
            memory = w.cta.cluster.launch.memory
            for lane in lanes_of(m).tolist():
                address = _pointer(w, lane, offsets[0])
                if address and not memory.free(address):
                    raise Fault(
                        "address",
                        f"free of 0x{address:x}, which malloc has not returned, or which is free",
                        "free each pointer once, in the kernel or in one that follows",
                        lane,
                    )

        d.emit_visible(release)
    elif name == "vprintf":

        def output(w: Warp, m: Mask) -> None:
            w.at = ins
            for lane in lanes_of(m).tolist():
                text = read_string(w, lane, _pointer(w, lane, offsets[0]))
                sys.stdout.write(formatted(w, lane, text, _pointer(w, lane, offsets[1])))
                if result is not None:
                    w.local[lane, result : result + 4] = 0

        d.emit_visible(output)
    else:

        def fail(w: Warp, m: Mask) -> None:
            w.at = ins
            lane = int(lanes_of(m)[0])
            message = read_string(w, lane, _pointer(w, lane, offsets[0]))
            file = read_string(w, lane, _pointer(w, lane, offsets[1]))
            raise Fault(
                "trap", f"assertion failed: {message} ({file})", "see the asserted condition", lane
            )

        d.emit(fail)


def _pointer(w: Warp, lane: int, offset: int) -> int:
    return int.from_bytes(read_bytes(w, lane, LOCAL_WINDOW + offset, 8), "little")


def read_bytes(w: Warp, lane: int, address: int, nbytes: int) -> bytes:
    """Read global or local memory of a lane."""
    if address >= LOCAL_WINDOW:
        start = address - LOCAL_WINDOW
        if start + nbytes > w.local.shape[1]:
            raise outside_private(nbytes, start, w.local.shape[1], lane)
        return w.local[lane, start : start + nbytes].tobytes()
    return w.cta.cluster.launch.memory.bytes_at(address, nbytes).tobytes()


def read_string(w: Warp, lane: int, address: int) -> str:
    """Read bytes up to a zero."""
    data = bytearray()
    while len(data) < 4096:
        byte = read_bytes(w, lane, address + len(data), 1)
        if byte == b"\0":
            break
        data += byte
    return data.decode(errors="replace")


def formatted(w: Warp, lane: int, text: str, arguments: int) -> str:
    """Format as C's printf does, from a buffer of promoted values."""
    position = 0

    def value(match: re.Match[str]) -> str:
        nonlocal position
        letter = match.group(1)
        if letter == "%":
            return "%"
        spec = re.sub(r"hh|h|ll|l|z|t|j", "", match.group(0))
        wide = bool(re.search(r"ll|l|z|t|j", match.group(0)[:-1])) or letter in "eEfFgGsp"
        size = 8 if wide else 4
        position += -position % size
        raw = read_bytes(w, lane, arguments + position, size)
        position += size
        item: Any
        if letter in "eEfFgG":
            item = struct.unpack("<d", raw)[0]
        elif letter == "s":
            item = read_string(w, lane, int.from_bytes(raw, "little"))
        elif letter == "p":
            return f"0x{int.from_bytes(raw, 'little'):x}"
        else:
            item = int.from_bytes(raw, "little", signed=letter in "di")
            if letter == "c":
                item &= 0xFF
        return str(spec.replace("u", "d") % item)

    return _FORMAT.sub(value, text)
