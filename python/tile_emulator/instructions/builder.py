# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build the `Program` of a kernel: lay out its variables, decode, find where branches meet."""

from __future__ import annotations

from tile_emulator.errors import LaunchError, PTXError
from tile_emulator.instructions.control import return_control
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.graph import immediate_post_dominators
from tile_emulator.instructions.program import SHARED_BASE, Block, Body, Program, make_code
from tile_emulator.instructions.slots import Slots
from tile_emulator.instructions.table import find_handler
from tile_emulator.machine.memory import FUNCTIONS, PARAM_WINDOW
from tile_emulator.ptx.module import Function, Instruction, Mem, Module, Operand, Reg, Sym, Variable

MAX_LOCAL_BYTES = 512 << 10
MAX_PARAM_BYTES = 32764


def build_program(
    module: Module, name: str, addresses: dict[str, int], fine: bool, strict: bool
) -> Program:
    """Decode kernel `name`; `addresses` places the module's global and const variables.

    `fine` ends a block after each step that other threads can see, so that a random schedule may
    switch there.
    """
    kernel = module.kernels.get(name)
    if kernel is None:
        known = ", ".join(sorted(module.kernels)) or "none"
        raise LaunchError(f"no kernel '{name}' in the module, it has: {known}")
    functions = _reachable(module, kernel)
    names: dict[str, tuple[str, int]] = {n: ("global", a) for n, a in addresses.items()}
    places = function_addresses(module)
    names.update((n, ("function", a)) for n, a in places.items())
    targets = {places[f.name]: f for f in functions if not f.is_entry}
    entries: dict[str, int] = {}
    static, dynamic_align = _place_shared(module, functions, names)
    local_bytes, param_offsets, param_bytes = _place_local(functions, names)
    for what, nbytes, limit in (
        ("local memory a thread", local_bytes, MAX_LOCAL_BYTES),
        ("parameters", param_bytes, MAX_PARAM_BYTES),
    ):
        if nbytes > limit:
            raise LaunchError(
                f"kernel '{name}' needs {nbytes} bytes of {what}, the limit is {limit}"
            )
    slots = Slots()
    blocks: list[Block] = []
    for function in functions:
        entries[function.name] = len(blocks)
        decoder = Decoder(
            function, slots, blocks, names, entries, module.functions, targets, find_handler, fine,
            strict,
        )  # fmt: skip
        _decode_function(decoder)
    for block in blocks:
        if block.at is not None and not block.at.text:
            block.at.text = module.lines.text(block.at.line)
    return Program(
        kernel,
        module.lines,
        slots,
        blocks,
        make_code(blocks),
        entries[name],
        local_bytes,
        static,
        dynamic_align,
        param_offsets,
        param_bytes,
        addresses,
        {key.rpartition("/")[2]: at for key, (space, at) in names.items() if space == "shared"},
    )


def _symbols(operand: Operand) -> list[str]:
    if isinstance(operand, Sym):
        return [operand.name]
    if isinstance(operand, Mem):
        return _symbols(operand.base)
    items = getattr(operand, "items", ())
    return [name for item in items for name in _symbols(item)]


def function_addresses(module: Module) -> dict[str, int]:
    """Return what pointers to functions hold, by the names of functions, aliases among them."""
    numbers = {f.name: i for i, f in enumerate(module.functions.values())}
    return {n: FUNCTIONS + 16 * numbers[f.name] for n, f in module.functions.items()}


def _pointed(module: Module) -> list[Function]:
    """Return the functions that a pointer may lead to."""
    names = {
        name
        for function in module.functions.values()
        for ins in function.body or ()
        if ins.family != "call"
        for operand in ins.operands
        for name in _symbols(operand)
    }
    for group in (module.variables, *(f.variables for f in module.functions.values())):
        names.update(name for v in group.values() for _, name, _ in v.pointers)
    functions = [f for n, f in module.functions.items() if n in names]
    return [f for f in functions if f.body is not None and not f.is_entry]


def _reachable(module: Module, kernel: Function) -> list[Function]:
    """Return what a kernel may call, each function after those that it calls by name."""
    found: dict[str, Function] = {}
    through_pointers = False

    def visit(function: Function, path: tuple[str, ...]) -> None:
        nonlocal through_pointers
        if function.name in path:
            raise PTXError(f"unsupported recursion through '{function.name}'", function.line)
        if function.name in found:
            return
        for ins in function.body or ():
            if ins.family != "call":
                continue
            through_pointers |= any(isinstance(operand, Reg) for operand in ins.operands)
            for operand in ins.operands:
                if isinstance(operand, Sym) and operand.name in module.functions:
                    callee = module.functions[operand.name]
                    if callee.body is not None:
                        visit(callee, (*path, function.name))
        found[function.name] = function

    visit(kernel, ())
    if through_pointers:
        for function in _pointed(module):
            visit(function, ())
    return list(found.values())


def _up(offset: int, align: int) -> int:
    return -(-offset // max(1, align)) * max(1, align)


def _place_shared(
    module: Module, functions: list[Function], names: dict[str, tuple[str, int]]
) -> tuple[int, int]:
    used = {
        name
        for function in functions
        for ins in function.body or ()
        for operand in ins.operands
        for name in _symbols(operand)
    }
    placed: list[tuple[str, Variable]] = [
        (f"{function.name}/{v.name}", v) for function in functions for v in function.shared
    ]
    placed += [(n, v) for n, v in module.variables.items() if v.space == "shared" and n in used]
    offset, dynamic_align = SHARED_BASE, 16
    for key, variable in placed:
        if not variable.external:
            offset = _up(offset, variable.align)
            names[key] = ("shared", offset - SHARED_BASE)
            offset += variable.size
    external = [(k, v) for k, v in placed if v.external]
    for _, variable in external:
        dynamic_align = max(dynamic_align, variable.align)
    end = _up(offset, dynamic_align) if external else offset
    for key, _ in external:
        names[key] = ("shared", end - SHARED_BASE)
    return end - SHARED_BASE, dynamic_align


def _place_local(
    functions: list[Function], names: dict[str, tuple[str, int]]
) -> tuple[int, dict[str, int], int]:
    """Place local variables and the parameters of calls in a thread's local memory."""
    offset = 16
    param_offsets: dict[str, int] = {}
    param_bytes = 0
    for function in functions:
        for variable in function.variables.values():
            if variable.space in ("local", "param"):
                offset = _up(offset, max(16, variable.align))
                names[f"{function.name}/{variable.name}"] = (variable.space, offset)
                offset += variable.size
        for param in (*function.params, *function.returns):
            if param.register:
                raise PTXError(
                    f"unsupported .reg parameter '{param.name}' of function '{function.name}' "
                    "(declare it as .param)",
                    function.line,
                )
            if function.is_entry:
                param_bytes = _up(param_bytes, param.align)
                param_offsets[param.name] = param_bytes
                names[f"{function.name}/{param.name}"] = ("param", PARAM_WINDOW + param_bytes)
                param_bytes += param.size
            else:
                offset = _up(offset, 16)
                names[f"{function.name}/{param.name}"] = ("param", offset)
                offset += param.size
    return _up(offset, 16), param_offsets, param_bytes


def _decode_function(d: Decoder) -> None:
    function = d.function
    body = function.body or []
    start = len(d.blocks)
    leaders = set(function.labels.values()) | {0}
    first_block: dict[int, int] = {}
    edges: list[tuple[int, list[int] | None, bool]] = []
    references: list[tuple[list[int], int]] = []
    meets: list[tuple[list[int], int]] = []
    steps: Body = []
    count = 0
    last: Instruction | None = None

    def close(targets: list[int] | None, falls: bool) -> Block:
        nonlocal steps, count
        block = Block(tuple(steps), None, 0, count, at=last)
        d.blocks.append(block)
        edges.append((len(d.blocks) - 1, targets, falls))
        steps, count = [], 0
        return block

    for index, ins in enumerate(body):
        if index in leaders:
            if steps or count:
                close(None, True)
            first_block[index] = len(d.blocks)
        last = ins
        d.references, d.meets = [], []
        new = d.decode(ins)
        count += 1
        if d.control_step is None:
            steps.extend(new)
            if d.fine and d.visible:
                close(None, True)
            continue
        if d.control_blocking:
            if steps or new:
                steps.extend(new)
                close(None, True)
                count = 1
        else:
            steps.extend(new)
        control = d.control_step if d.targets is not None else d.guarded_control(d.control_step)
        references.extend(d.references)
        block = close(d.targets, d.falls_through)
        block.control, block.blocking = control, d.control_blocking
        block.exchange, block.barrier = d.exchange, d.barrier
        meets.extend((meet, len(d.blocks) - 1) for meet in d.meets)
        if steps:
            steps = []
    if steps or count or not d.blocks[start:] or len(body) in leaders:
        if len(body) in leaders:
            if steps or count:
                close(None, True)
            first_block[len(body)] = len(d.blocks)
        close(None, True)
    exit_pc = len(d.blocks)
    d.blocks.append(Block((), return_control(function.is_entry), at=last))
    first_block.setdefault(len(body), exit_pc)
    successors: list[list[int]] = []
    for number, targets, falls in edges:
        d.blocks[number].next = number + 1
        after = [number + 1 - start] if falls else []
        for target in targets or ():
            after.append((exit_pc if target < 0 else first_block[target]) - start)
        successors.append(after)
    successors.append([])
    for reference, index in references:
        reference[0] = exit_pc if index < 0 else first_block[index]
    post = immediate_post_dominators(successors, exit_pc - start)
    for meet, number in meets:
        meet[0] = post[number - start] + start
