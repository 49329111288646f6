# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instruction table: one line for each family, which is the opcode up to its first dot."""

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
    memory,
    moves,
    sync,
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


FAMILIES: dict[str, Handler] = {
    "abs": floating.arithmetic,
    "activemask": lanes.active_mask,
    "add": floating.arithmetic,
    "addc": carry.with_carry,
    "and": moves.logic,
    "applypriority": control.nothing,
    "atom": atomics.atomic,
    "bar": sync.cta_barrier,
    "barrier": sync.cta_barrier,
    "bfe": bits.bit_field,
    "bfi": bits.bit_field,
    "bfind": bits.count_bits,
    "bmsk": bits.bit_mask,
    "bra": control.branch,
    "brev": bits.count_bits,
    "brkpt": control.trap,
    "brx": control.branch_indexed,
    "call": control.call,
    "clz": bits.count_bits,
    "cnot": moves.invert,
    "copysign": floating.copysign,
    "cos": floating.unary,
    "cp": copies.copy,
    "createpolicy": control.policy,
    "cvt": convert.convert,
    "cvta": memory.convert_address,
    "discard": control.nothing,
    "div": floating.division,
    "dp2a": integer.dot_product,
    "dp4a": integer.dot_product,
    "elect": lanes.elect,
    "ex2": floating.unary,
    "exit": control.exit_,
    "fence": sync.fence,
    "fma": floating.fused,
    "fns": bits.find_set,
    "getctarank": memory.get_rank,
    "griddepcontrol": control.nothing,
    "isspacep": memory.is_space,
    "ld": memory.load,
    "ldu": memory.load,
    "lg2": floating.unary,
    "lop3": bits.lookup3,
    "mad": floating.mad,
    "mad24": integer.multiply24,
    "madc": integer.multiply_add,
    "mapa": memory.map_address,
    "match": lanes.match,
    "max": floating.arithmetic,
    "mbarrier": barriers.mbarrier,
    "membar": sync.fence,
    "min": floating.arithmetic,
    "mov": moves.move,
    "mul": floating.arithmetic,
    "mul24": integer.multiply24,
    "nanosleep": control.nothing,
    "neg": floating.arithmetic,
    "not": moves.invert,
    "or": moves.logic,
    "pmevent": control.nothing,
    "popc": bits.count_bits,
    "prefetch": control.nothing,
    "prefetchu": control.nothing,
    "prmt": bits.permute,
    "rcp": floating.unary,
    "red": atomics.atomic,
    "redux": lanes.reduce,
    "rem": integer.divide,
    "ret": control.return_,
    "rsqrt": floating.unary,
    "sad": integer.sum_of_differences,
    "selp": moves.select,
    "set": moves.set_value,
    "setmaxnreg": control.nothing,
    "setp": moves.set_predicate,
    "shf": bits.funnel,
    "shfl": lanes.shuffle,
    "shl": bits.shift,
    "shr": bits.shift,
    "sin": floating.unary,
    "slct": moves.select_sign,
    "sqrt": floating.unary,
    "st": stores,
    "sub": floating.arithmetic,
    "subc": carry.with_carry,
    "szext": bits.bit_mask,
    "tanh": floating.unary,
    "testp": floating.test_property,
    "trap": control.trap,
    "vabsdiff4": integer.byte_differences,
    "vote": lanes.vote,
    "xor": moves.logic,
}


def find_handler(family: str) -> Handler | None:
    """Return what decodes instructions of a family."""
    return FAMILIES.get(family)
