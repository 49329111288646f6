# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that move tiles between CTAs, drawn at random, and what they must compute.

Each is right but for its fences and cluster barriers, which it leaves to `tile-insert-sync`: who
stores tells who copies, who receives tells who sends, by barriers that the kernel waits for.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

TILE = 64
"""Elements of a tile, one for each thread that is not idle."""

PROGRAM = """
#wg = #gpu.address_space<workgroup>
!tile = memref<64xi32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = {barriers}>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @kernel(%out: memref<{out}xi32>) workgroup({buffers}) kernel
        attributes {{tile.insert_sync, known_block_size = array<i32: {threads}, 1, 1>,
                    known_cluster_size = array<i32: {ctas}, 1, 1>}} {{
      {constants}
      {ids}
      %all = arith.constant 64 : i32
      %zero = arith.constant 0 : i32
      %false = arith.constant false
      %true = arith.constant true
      %t = gpu.thread_id x
      %lane = arith.remui %t, %c32 : index
      %warp = arith.divui %t, %c32 : index
      %rank = gpu.cluster_block_id x
      %first = arith.cmpi eq, %t, %c0 : index
      %second = arith.cmpi eq, %t, %c32 : index
      %low = arith.cmpi ult, %t, %c32 : index
      %high = arith.cmpi uge, %t, %c32 : index
      %active = arith.cmpi ult, %t, %c64 : index
      %ti = arith.index_cast %t : index to i32
      {ranks}
      %bars = nvgpu.mbarrier.create -> !bars
      {body}
    }}
  }}
  func.func @main(%out: memref<{out}xi32>) attributes {{llvm.emit_c_interface}} {{
    %c1 = arith.constant 1 : index
    %threads = arith.constant {threads} : index
    %ctas = arith.constant {ctas} : index
    %start = gpu.wait async
    %d, %t0 = gpu.alloc async [%start] () : memref<{out}xi32>
    %t1 = gpu.launch_func async [%t0] @kernels::@kernel
        clusters in (%ctas, %c1, %c1) blocks in (%ctas, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%d : memref<{out}xi32>)
    %t2 = gpu.memcpy async [%t1] %out, %d : memref<{out}xi32>, memref<{out}xi32>
    %t3 = gpu.dealloc async [%t2] %d : memref<{out}xi32>
    gpu.wait [%t3]
    return
  }}
}}
"""


@dataclass
class Protocol:
    """A program, `main(out)`, and what it writes to `out`."""

    text: str
    expected: np.ndarray
    parts: list[str]
    """What was drawn, in words."""


@dataclass
class _Writer:
    """Collects a kernel while it is drawn."""

    draw: random.Random
    ctas: int
    counts: list[int] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    clears: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    expected: list[np.ndarray] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def barrier(self, arrivals: int) -> str:
        """Return a new barrier that so many arrivals complete."""
        self.counts.append(arrivals)
        return f"%bars[%c{len(self.counts) - 1}]"

    def buffer(self) -> str:
        self.buffers.append(f"%b{len(self.buffers)}")
        return self.buffers[-1]

    def output(self, values: np.ndarray) -> int:
        """Return where 64 values of the output begin."""
        self.expected.append(values)
        return TILE * (len(self.expected) - 1)


def _arrive(barrier: str, number: int) -> str:
    return f"%k{number} = nvgpu.mbarrier.arrive {barrier} : !bars -> !nvgpu.mbarrier.token"


def _copy(source: str, destination: str, rank: int, barrier: str, how: str = "") -> str:
    return (
        f"tile.copy_async {source} to {destination} cta(%r{rank}) mbarrier({barrier}){how}"
        " : !tile to !tile, !bars"
    )


def _store(source: str, value: str, by: str) -> str:
    """Store `value` plus its place to each element, by all threads, one warp or one thread."""
    if by == "all":
        return f"%v = arith.addi {value}, %ti : i32\nmemref.store %v, {source}[%t] : !tile"
    start, step = ("%lane", "%c32") if by == "warp" else ("%c0", "%c1")
    return f"""scf.for %j = {start} to %c64 step {step} {{
      %ji = arith.index_cast %j : index to i32
      %v = arith.addi {value}, %ji : i32
      memref.store %v, {source}[%j] : !tile
    }}"""


def _send(w: _Writer, number: int, source: str, copy: str, before: str) -> str:
    """Return how active threads of a CTA store `%base{number}` to `source`, and one does `copy`.

    In a loop, the threads that store do `before` first, and nobody else, who might miss a phase.
    """
    kinds = ["all", "one", "warp barrier", "mbarrier if", "mbarrier ifs", "mbarrier switch"]
    kinds += ["named if", "named ifs", "relay"]
    if not before:
        kinds.append("blocks")
    kind = w.draw.choice(kinds)
    w.parts.append(f"stored: {kind}")
    value = f"%base{number}"
    if kind == "all":
        stores = _store(source, value, "all")
        return f"{before}\n{stores}\ngpu.barrier\nscf.if %first {{ {copy} }}"
    if kind == "one":
        return f"scf.if %first {{ {before}\n {_store(source, value, 'one')}\n {copy} }}"
    if kind == "warp barrier":
        return f"""scf.if %low {{
          {before}
          {_store(source, value, "warp")}
          %mask{number} = arith.constant -1 : i32
          nvvm.bar.warp.sync %mask{number} : i32
          scf.if %first {{ {copy} }}
        }}"""
    if kind.startswith("named"):
        tells = f"nvvm.barrier.arrive id = %id{number} number_of_threads = %all"
        hears = f"nvvm.barrier id = %id{number} number_of_threads = %all"
        if w.draw.random() < 0.5:
            tells = hears
    elif kind == "relay":
        one, other = w.barrier(32), w.barrier(1)
        tells = _arrive(one, 10 * number)
        hears = f"tile.wait {other} parity(%p{number}) : !bars"
        relay = f"""scf.if %second {{
          tile.wait {one} parity(%p{number}) : !bars
          {_arrive(other, 10 * number + 1)}
        }}"""
    else:
        told = w.barrier(32)
        tells = _arrive(told, 10 * number)
        hears = f"tile.wait {told} parity(%p{number}) : !bars"
    stores = f"{before}\n{_store(source, value, 'warp')}\n{tells}"
    if kind == "relay":
        return f"""scf.if %low {{ {stores} }}
          {relay}
          scf.if %second {{ {hears}\n {copy} }}"""
    copies = f"scf.if %second {{ {hears}\n {copy} }}"
    if kind.startswith("named"):
        copies = f"{hears}\nscf.if %second {{ {copy} }}"
    if kind.endswith("ifs"):
        ifs = [f"scf.if %low {{ {stores} }}", f"scf.if %high {{ {copies} }}"]
        if w.draw.random() < 0.5:
            ifs.reverse()
        return "\n".join(ifs)
    if kind.endswith("switch"):
        return f"""scf.index_switch %warp
          case 0 {{ {stores}\n scf.yield }}
          case 1 {{ {copies}\n scf.yield }}
          default {{ }}"""
    if kind == "blocks":
        return f"""scf.execute_region {{
            cf.cond_br %low, ^stores, ^copies
          ^stores:
            {stores}
            cf.br ^done
          ^copies:
            {copies}
            cf.br ^done
          ^done:
            scf.yield
          }}"""
    return f"scf.if %low {{ {stores} }} else {{ {copies} }}"


def _transfer(w: _Writer, number: int) -> None:
    """Draw tiles that go from one CTA to another, and perhaps on to a third."""
    draw = w.draw
    sender = draw.randrange(w.ctas)
    receiver = (sender + draw.randrange(1, w.ctas)) % w.ctas
    rounds = draw.choice([1, 1, 2, 3])
    source, destination = w.buffer(), w.buffer()
    full = w.barrier(1)
    base = draw.randrange(1000)
    values = base + 100 * (rounds - 1) + np.arange(TILE, dtype=np.int32)
    how = draw.choice(["", ' {variant = "bulk"}'])
    forwards = rounds == 1 and draw.random() < 0.4
    clears = draw.random() < 0.3
    w.parts.append(f"rank {sender} to {receiver}, rounds: {rounds}")
    if clears:
        w.parts.append("cleared")
        w.clears.append(f"memref.store %zero, {destination}[%t] : !tile")
    place = w.output(values)
    read = f"""%y{number} = memref.load {destination}[%t] : !tile
      %at{number} = arith.constant {place} : index
      %o{number} = arith.addi %at{number}, %t : index
      memref.store %y{number}, %out[%o{number}] : memref<{{out}}xi32>"""
    copy = _copy(source, destination, receiver, full, how)
    wait = f"tile.wait {full} parity(%p{number}) : !bars"
    arm = f"scf.if %first {{ tile.expect {full} for {destination} : !bars, !tile }}"
    received = f"{arm}\n{wait}\n{read}"
    before = after = ""
    if rounds > 1:
        free = w.barrier(1)
        before = f"tile.wait {free} parity(%q{number}) : !bars"
        tells = f"tile.arrive {free} cta(%r{sender}) : !bars"
        if draw.random() < 0.4:
            w.parts.append("acknowledged by a role")
            done = w.barrier(64)
            after = f"""{_arrive(done, 10 * number + 5)}
              scf.if %second {{ tile.wait {done} parity(%p{number}) : !bars\n {tells} }}"""
        else:
            after = f"gpu.barrier\nscf.if %first {{ {tells} }}"
    if forwards:
        third = (receiver + draw.randrange(1, w.ctas)) % w.ctas
        onto, next_full = w.buffer(), w.barrier(1)
        w.parts.append(f"forwarded to {third}")
        on = _copy(destination, onto, third, next_full)
        by = draw.choice(["one", "barrier", "role"])
        if by == "one":
            received += f"\nscf.if %first {{ {on} }}"
        elif by == "barrier":
            received += f"\ngpu.barrier\nscf.if %second {{ {on} }}"
        else:
            told = w.barrier(64)
            received += f"""\n{_arrive(told, 10 * number + 6)}
              scf.if %second {{ tile.wait {told} parity(%p{number}) : !bars\n {on} }}"""
        place = w.output(values)
        last = f"""scf.if %first {{ tile.expect {next_full} for {onto} : !bars, !tile }}
          tile.wait {next_full} parity(%p{number}) : !bars
          %z{number} = memref.load {onto}[%t] : !tile
          %au{number} = arith.constant {place} : index
          %u{number} = arith.addi %au{number}, %t : index
          memref.store %z{number}, %out[%u{number}] : memref<{{out}}xi32>"""
    first = f"%base{number} = arith.constant {base} : i32"
    sent = _send(w, number, source, copy, before)
    if rounds == 1:
        branches = f"""%p{number} = arith.constant false
          scf.if %is{sender} {{ {first}\n {sent} }}
          scf.if %is{receiver} {{ {received} }}"""
        if forwards:
            branches += f"\nscf.if %is{third} {{ {last} }}"
    else:
        hundred = f"""%h{number} = arith.constant 100 : i32
          %f{number} = arith.constant {base} : i32
          %n{number} = arith.index_cast %i{number} : index to i32
          %m{number} = arith.muli %n{number}, %h{number} : i32
          %base{number} = arith.addi %f{number}, %m{number} : i32"""
        branches = f"""scf.for %i{number} = %c0 to %c{rounds} step %c1
            iter_args(%p{number} = %false) -> (i1) {{
          %q{number} = arith.xori %p{number}, %true : i1
          scf.if %is{sender} {{ {hundred}\n {sent} }}
          scf.if %is{receiver} {{ {received}\n {after} }}
          scf.yield %q{number} : i1
        }}"""
    w.code.append(branches)


def protocol(seed: int) -> Protocol:
    """Return the protocol of that number."""
    draw = random.Random(seed)
    w = _Writer(draw, ctas=draw.choice([2, 2, 3, 4]))
    transfers = draw.choice([1, 1, 2, 3])
    for number in range(transfers):
        _transfer(w, number)
    idle = draw.choice(["nobody", "nobody", "branch", "blocks", "blocks to one return"])
    w.parts.append(f"leaves early: {idle}")
    inits = "\n".join(
        f"%n_{i} = arith.constant {count} : index\nnvgpu.mbarrier.init %bars[%c{i}], %n_{i} : !bars"
        for i, count in enumerate(w.counts)
    )
    work = "\n".join([f"scf.if %first {{ {inits} }}", *w.clears, *w.code])
    if idle == "nobody":
        body = f"{work}\ngpu.return"
    elif idle == "branch":
        body = f"scf.if %active {{ {work} }}\ngpu.return"
    elif idle == "blocks":
        body = f"cf.cond_br %active, ^go, ^leave\n^go:\n{work}\ngpu.return\n^leave:\ngpu.return"
    else:
        body = f"cf.cond_br %active, ^go, ^done\n^go:\n{work}\ncf.br ^done\n^done:\ngpu.return"
    extents = TILE * len(w.expected)
    constants = sorted({*range(max(len(w.counts), 4)), 32, 64})
    text = PROGRAM.format(
        barriers=max(len(w.counts), 1),
        out=extents,
        threads=64 if idle == "nobody" else 96,
        ctas=w.ctas,
        buffers=", ".join(f"{buffer}: !tile" for buffer in w.buffers),
        ids="\n".join(f"%id{n} = arith.constant {n + 1} : i32" for n in range(transfers)),
        constants="\n".join(f"%c{n} = arith.constant {n} : index" for n in constants),
        ranks="\n".join(
            f"%r{r} = arith.constant {r} : i32\n%is{r} = arith.cmpi eq, %rank, %c{r} : index"
            for r in range(w.ctas)
        ),
        body=body.replace("{out}", str(extents)),
    )
    return Protocol(text, np.concatenate(w.expected).astype(np.int32), w.parts)
