# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instruction table: one line for each family, which is the opcode up to its first dot.

A line has the function that decodes it, and how many operands there are at least and at most.
"""

from __future__ import annotations

from collections.abc import Callable

from tile_emulator.instructions import (
    atomics,
    barriers,
    bits,
    carry,
    control,
    convert,
    copies,
    floating,
    integer,
    lanes,
    matrices,
    memory,
    moves,
    sync,
    tensors,
    warpgroups,
)
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.ptx.module import Instruction

Handler = Callable[[Decoder, Instruction], None]


def stores(d: Decoder, ins: Instruction) -> None:
    """`st`, and `st.async`, which is a copy."""
    if ins.parts[1] == "async":
        copies.store_async(d, ins)
    elif ins.parts[1] == "bulk":
        raise d.unsupported()
    else:
        memory.store(d, ins)


def reductions(d: Decoder, ins: Instruction) -> None:
    """`red`, and `red.async`, which is a copy."""
    if ins.parts[1] == "async":
        copies.reduce_async(d, ins)
    else:
        atomics.atomic(d, ins)


def copy(d: Decoder, ins: Instruction) -> None:
    """`cp`: of bytes, or of boxes of tensors."""
    bulk = ins.parts.index("bulk") if "bulk" in ins.parts else len(ins.parts)
    rest = ins.parts[bulk + 1 :]
    if rest[:1] == ("tensor",):
        tensors.tensor_copy(d, ins, rest[1:])
    elif rest[:2] == ("prefetch", "tensor"):
        tensors.prefetch_box(d, ins, rest[2:])
    else:
        copies.copy(d, ins)


FAMILIES: dict[str, tuple[Handler, int, int]] = {
    "abs": (floating.arithmetic, 2, 2),
    "activemask": (lanes.active_mask, 1, 1),
    "add": (floating.arithmetic, 3, 3),
    "addc": (carry.with_carry, 3, 3),
    "and": (moves.logic, 3, 3),
    "applypriority": (control.nothing, 2, 2),
    "atom": (atomics.atomic, 3, 5),
    "bar": (sync.cta_barrier, 1, 4),
    "barrier": (sync.cta_barrier, 0, 4),
    "bfe": (bits.bit_field, 4, 4),
    "bfi": (bits.bit_field, 5, 5),
    "bfind": (bits.count_bits, 2, 2),
    "bmsk": (bits.bit_mask, 3, 3),
    "bra": (control.branch, 1, 1),
    "brev": (bits.count_bits, 2, 2),
    "brkpt": (control.trap, 0, 0),
    "brx": (control.branch_indexed, 2, 2),
    "call": (control.call, 1, 4),
    "clz": (bits.count_bits, 2, 2),
    "cnot": (moves.invert, 2, 2),
    "copysign": (floating.copysign, 3, 3),
    "cos": (floating.unary, 2, 2),
    "cp": (copy, 0, 8),
    "createpolicy": (control.policy, 1, 4),
    "cvt": (convert.convert, 2, 5),
    "cvta": (memory.convert_address, 2, 2),
    "discard": (control.nothing, 2, 2),
    "div": (floating.division, 3, 3),
    "dp2a": (integer.dot_product, 4, 4),
    "dp4a": (integer.dot_product, 4, 4),
    "elect": (lanes.elect, 2, 2),
    "ex2": (floating.unary, 2, 2),
    "exit": (control.exit_, 0, 0),
    "fence": (sync.fence, 0, 2),
    "fma": (floating.fused, 4, 4),
    "fns": (bits.find_set, 4, 4),
    "getctarank": (memory.get_rank, 2, 2),
    "griddepcontrol": (control.nothing, 0, 0),
    "isspacep": (memory.is_space, 2, 2),
    "ld": (memory.load, 2, 3),
    "ldmatrix": (matrices.load_matrix, 2, 2),
    "ldu": (memory.load, 2, 2),
    "lg2": (floating.unary, 2, 2),
    "lop3": (bits.lookup3, 5, 6),
    "mad": (floating.mad, 4, 4),
    "mad24": (integer.multiply24, 4, 4),
    "madc": (integer.multiply_add, 4, 4),
    "mapa": (memory.map_address, 3, 3),
    "match": (lanes.match, 3, 3),
    "max": (floating.arithmetic, 3, 4),
    "mbarrier": (barriers.mbarrier, 1, 4),
    "membar": (sync.fence, 0, 0),
    "min": (floating.arithmetic, 3, 4),
    "mma": (matrices.multiply, 4, 4),
    "mov": (moves.move, 2, 2),
    "movmatrix": (matrices.move_matrix, 2, 2),
    "mul": (floating.arithmetic, 3, 3),
    "mul24": (integer.multiply24, 3, 3),
    "nanosleep": (control.nothing, 1, 1),
    "neg": (floating.arithmetic, 2, 2),
    "not": (moves.invert, 2, 2),
    "or": (moves.logic, 3, 3),
    "pmevent": (control.nothing, 1, 1),
    "popc": (bits.count_bits, 2, 2),
    "prefetch": (tensors.prefetch, 1, 1),
    "prefetchu": (control.nothing, 1, 1),
    "prmt": (bits.permute, 4, 4),
    "rcp": (floating.unary, 2, 2),
    "red": (reductions, 2, 3),
    "redux": (lanes.reduce, 3, 3),
    "rem": (integer.divide, 3, 3),
    "ret": (control.return_, 0, 0),
    "rsqrt": (floating.unary, 2, 2),
    "sad": (integer.sum_of_differences, 4, 4),
    "selp": (moves.select, 4, 4),
    "set": (moves.set_value, 3, 4),
    "setmaxnreg": (control.nothing, 1, 1),
    "setp": (moves.set_predicate, 3, 4),
    "shf": (bits.funnel, 4, 4),
    "shfl": (lanes.shuffle, 5, 5),
    "shl": (bits.shift, 3, 3),
    "shr": (bits.shift, 3, 3),
    "sin": (floating.unary, 2, 2),
    "slct": (moves.select_sign, 4, 4),
    "sqrt": (floating.unary, 2, 2),
    "st": (stores, 2, 4),
    "stmatrix": (matrices.store_matrix, 2, 2),
    "sub": (floating.arithmetic, 3, 3),
    "subc": (carry.with_carry, 3, 3),
    "szext": (bits.bit_mask, 3, 3),
    "tanh": (floating.unary, 2, 2),
    "testp": (floating.test_property, 2, 2),
    "trap": (control.trap, 0, 0),
    "vabsdiff4": (integer.byte_differences, 4, 4),
    "vote": (lanes.vote, 3, 3),
    "wgmma": (warpgroups.warpgroup, 0, 8),
    "xor": (moves.logic, 3, 3),
}


def find_handler(family: str) -> tuple[Handler, int, int] | None:
    """Return what decodes instructions of a family, and how many operands they have."""
    return FAMILIES.get(family)
