# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program around a measured copy, as MLIR text.

Sender and receiver follow each other by two barriers for each stage, as in a real pipeline; the
clock of the SM is read around all tiles. Before and after, each CTA brings its tiles in and out.
"""

from __future__ import annotations

from cases import SPACE, Case

WHOLE_SM_BYTES = 128 * 1024
"""Shared memory that a ring takes besides its buffers, so that an SM has room for one CTA."""

FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"


def program(
    case: Case,
    issue: str,
    threads: int,
    stages: int,
    iterations: int,
    ctas: int = 2,
    variant: str | None = None,
    reads: str = "none",
) -> str:
    """Return the module: `main(a, b, clocks)` sends `iterations` tiles through `stages` buffers.

    With `reads` of "plain" or "fenced", the thread that receives loads an element of each tile
    before it says that the buffer is free, and in the second case fences it for the async proxy.
    `a` holds the sources of all CTAs and `b` their destinations, stage by stage; `clocks` takes the
    clk of each CTA. `threads` execute the copy; in a ring one warp more receives.
    """
    cluster = case.cluster or 2
    forced = f' {{variant = "{variant}"}}' if variant else ""
    element, (src_elements, dst_elements) = case.element, case.elements
    flat_src, flat_dst = (f"memref<{n}x{element}, {SPACE}>" for n in case.elements)
    a = f"memref<{ctas * src_elements}x{element}>"
    b = f"memref<{ctas * stages * dst_elements}x{element}>"
    clocks = f"memref<{ctas}xi64>"
    group = f"!nvgpu.mbarrier.group<memorySpace = {SPACE}, num_barriers = {stages}>"
    src_type, dst_type = case.src.type(element), case.dst.type(element)
    executors = {"thread": 1, "warp": 32, "cta": threads}[issue]
    block = threads + 32 if case.cluster else threads
    last_phase = "even" if iterations // stages % 2 else "odd"
    buffers = ", ".join(f"%dst_buffer{s}: {flat_dst}" for s in range(stages))
    if case.cluster:
        roles = f"""
    %sends = arith.cmpi ult, %thread, %executors : index
    %receiving = arith.constant {threads} : index
    %receives = arith.cmpi eq, %thread, %receiving : index
    %size = arith.constant {cluster} : i32
    %minus = arith.constant {cluster - 1} : i32
    %after = arith.addi %rank, %one_i32 : i32
    %before = arith.addi %rank, %minus : i32
    %next = arith.remui %after, %size : i32
    %previous = arith.remui %before, %size : i32"""
    else:
        roles = """
    %executes = arith.cmpi ult, %thread, %executors : index
    %is_first_rank = arith.cmpi eq, %rank, %zero_i32 : i32
    %is_second_rank = arith.cmpi eq, %rank, %one_i32 : i32
    %sends = arith.andi %is_first_rank, %executes : i1
    %receives = arith.andi %is_second_rank, %is_first : i1
    %next = arith.constant 1 : i32
    %previous = arith.constant 0 : i32"""

    zero = results = summed = load = kept = ""
    carried, yielded = "i1", "%flipped : i1"
    if reads != "none":
        # What comes out in the end is written over it.
        zero = f"%zero = arith.constant 0.0 : {element}"
        kept = f"memref.store %ends#1, %b[%b_start] : {b}"
        results, summed = ":2", ", %sum0 = %zero"
        carried, yielded = f"i1, {element}", f"%flipped, %sum{stages} : i1, {element}"
        load = f"""
        %read@s = memref.load %dst@s[%c0, %c0] : {dst_type}
        %sum@n = arith.addf %sum@s, %read@s : {element}"""
        if reads == "fenced":
            load += f"\n        {FENCE}"

    def each_stage(text: str) -> str:
        return "\n".join(
            text.replace("@s", str(s)).replace("@n", str(s + 1)) for s in range(stages)
        )

    return f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @send(%a: {a}, %b: {b}, %clocks: {clocks})
      workgroup(%src_buffer: {flat_src}, {buffers})
      kernel attributes {{known_block_size = array<i32: {block}, 1, 1>,
                          known_cluster_size = array<i32: {cluster}, 1, 1>}} {{
    {each_stage("%c@s = arith.constant @s : index")}
    %one = arith.constant 1 : index
    %zero_i32 = arith.constant 0 : i32
    %one_i32 = arith.constant 1 : i32
    %block = arith.constant {block} : index
    %executors = arith.constant {executors} : index
    %src_elements = arith.constant {src_elements} : index
    %dst_elements = arith.constant {dst_elements} : index
    %all_elements = arith.constant {stages * dst_elements} : index
    %rounds = arith.constant {iterations // stages} : index
    %last = arith.constant {iterations // stages - 1} : index
    %even = arith.constant false
    %odd = arith.constant true
    %thread = gpu.thread_id x
    %cta = gpu.block_id x
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %is_first = arith.cmpi eq, %thread, %c0 : index
    {roles}
    %src = {case.src.seen("%src_buffer", src_elements, element)}
    {
        each_stage(
            f"%dst@s = {case.dst.seen('%dst_buffer@s', dst_elements, element)}",
        )
    }
    %full = nvgpu.mbarrier.create -> {group}
    %empty = nvgpu.mbarrier.create -> {group}
    scf.if %is_first {{
      {
        each_stage(f'''
      nvgpu.mbarrier.init %full[%c@s], %one : {group}
      nvgpu.mbarrier.init %empty[%c@s], %one : {group}
      tile.expect %full[%c@s] for %dst@s : {group}, {dst_type}''')
    }
      nvvm.fence.mbarrier.init
    }}
    %a_start = arith.muli %cta, %src_elements : index
    %b_start = arith.muli %cta, %all_elements : index
    scf.for %i = %thread to %src_elements step %block {{
      %at = arith.addi %a_start, %i : index
      %value = memref.load %a[%at] : {a}
      memref.store %value, %src_buffer[%i] : {flat_src}
    }}
    scf.for %i = %thread to %dst_elements step %block {{
      {
        each_stage(f'''
      %base@s = arith.muli %c@s, %dst_elements : index
      %in@s = arith.addi %base@s, %i : index
      %at@s = arith.addi %b_start, %in@s : index
      %value@s = memref.load %b[%at@s] : {b}
      memref.store %value@s, %dst_buffer@s[%i] : {flat_dst}''')
    }
    }}
    {FENCE}
    gpu.barrier
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %start = nvvm.read.ptx.sreg.clock64 : i64
    scf.if %sends {{
      %parity_end = scf.for %round = %c0 to %rounds step %one
          iter_args(%parity = %odd) -> (i1) {{
        {
        each_stage(f'''
        tile.wait %empty[%c@s] parity(%parity) : {group}
        tile.copy_async %src to %dst@s cta(%next) mbarrier(%full[%c@s]) issue({issue}){forced}
            : {src_type} to {dst_type}, {group}''')
    }
        %flipped = arith.xori %parity, %odd : i1
        scf.yield %flipped : i1
      }}
      {
        each_stage(f'''
      tile.wait %empty[%c@s] parity(%parity_end) : {group}''')
    }
    }}
    scf.if %receives {{
      {zero}
      %ends{results} = scf.for %round = %c0 to %rounds step %one
          iter_args(%parity = %even{summed}) -> ({carried}) {{
        {
        each_stage(f'''
        tile.wait %full[%c@s] parity(%parity) : {group}
        %more@s = arith.cmpi ult, %round, %last : index
        scf.if %more@s {{
          tile.expect %full[%c@s] for %dst@s : {group}, {dst_type}
        }}{load}
        tile.arrive %empty[%c@s] cta(%previous) : {group}''')
    }
        %flipped = arith.xori %parity, %odd : i1
        scf.yield {yielded}
      }}
      {kept}
    }}
    %end = nvvm.read.ptx.sreg.clock64 : i64
    scf.if %is_first {{
      %taken = arith.subi %end, %start : i64
      memref.store %taken, %clocks[%cta] : {clocks}
    }}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %holds = arith.constant {"true" if case.cluster else "false"}
    %is_receiver = arith.cmpi ne, %rank, %zero_i32 : i32
    %received = arith.ori %holds, %is_receiver : i1
    scf.if %received {{
      {
        each_stage(f'''
      tile.wait %full[%c@s] parity(%{last_phase}) : {group}''')
    }
      scf.for %i = %thread to %dst_elements step %block {{
        {
        each_stage(f'''
        %base@s = arith.muli %c@s, %dst_elements : index
        %in@s = arith.addi %base@s, %i : index
        %at@s = arith.addi %b_start, %in@s : index
        %value@s = memref.load %dst_buffer@s[%i] : {flat_dst}
        memref.store %value@s, %b[%at@s] : {b}''')
    }
      }}
    }}
    gpu.return
  }}
}}
func.func @main(%a: {a}, %b: {b}, %clocks: {clocks}) attributes {{llvm.emit_c_interface}} {{
  %c1 = arith.constant 1 : index
  %cluster = arith.constant {cluster} : index
  %ctas = arith.constant {ctas} : index
  %block = arith.constant {block} : index
  %unused = arith.constant {WHOLE_SM_BYTES if case.cluster else 0} : i32
  %t0 = gpu.wait async
  %device_a, %t1 = gpu.alloc async [%t0] () : {a}
  %device_b, %t2 = gpu.alloc async [%t1] () : {b}
  %device_clocks, %t3 = gpu.alloc async [%t2] () : {clocks}
  %t4 = gpu.memcpy async [%t3] %device_a, %a : {a}, {a}
  %t5 = gpu.memcpy async [%t4] %device_b, %b : {b}, {b}
  %t6 = gpu.launch_func async [%t5] @kernels::@send clusters in (%cluster, %c1, %c1)
      blocks in (%ctas, %c1, %c1) threads in (%block, %c1, %c1)
      dynamic_shared_memory_size %unused
      args(%device_a : {a}, %device_b : {b}, %device_clocks : {clocks})
  %t7 = gpu.memcpy async [%t6] %b, %device_b : {b}, {b}
  %t8 = gpu.memcpy async [%t7] %clocks, %device_clocks : {clocks}, {clocks}
  %t9 = gpu.dealloc async [%t8] %device_a : {a}
  %t10 = gpu.dealloc async [%t9] %device_b : {b}
  %t11 = gpu.dealloc async [%t10] %device_clocks : {clocks}
  gpu.wait [%t11]
  return
}}
}}
"""
