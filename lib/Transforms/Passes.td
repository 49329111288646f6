// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_PASSES_TD
#define TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileAnalyzeLayout : Pass<"tile-analyze-layout"> {
  let summary = "Find and prove how each tile.copy_async is cut into hardware copies";
  let description = [{
    Gives every `tile.copy_async` a `#tile.copy_plan`, or fails with an error on the op that says what
    could not be proved and how to mend it. Raises the alignment of buffers that the kernel itself
    declares.

    Where several variants can copy a tile, the one of the lowest estimate is taken; the plan of a copy
    that is issued by a warp or a CTA shows it. Those two need a block size that is known, by
    `known_block_size` or the constants of a `gpu.launch`, to be a multiple of 32.

    That a tile with a run-time offset stays inside its buffer is proved where loops, remainders and
    known block sizes bound the offset. Where it is not, `bounds` decides: `assume` takes it for
    granted, `check` builds a `cf.assert` in front of the copy, `error` refuses the program.
  }];
  let options = [
    Option<"bounds", "bounds", "::tile::Bounds", "::tile::Bounds::Assume",
           "What to do where a run-time offset is not proved to stay inside its buffer",
           [{::llvm::cl::values(
             clEnumValN(::tile::Bounds::Assume, "assume", "Take it for granted"),
             clEnumValN(::tile::Bounds::Check, "check", "Check it at run time"),
             clEnumValN(::tile::Bounds::Error, "error", "Refuse the program"))}]>,
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Tell for each copy which variants were considered, and what each would cost">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect"];
}

def TileInsertSync : Pass<"tile-insert-sync"> {
  let summary = "Add the fences and cluster barriers that copies need";
  let description = [{
    For each kernel with the attribute `tile.insert_sync`, adds what is missing around copies
    into peers and arrivals on their barriers, and nothing that is there:

    - after the initialisation of barriers that peers use, `nvvm.fence.mbarrier.init`, and a cluster
      barrier that all threads pass before the first use;
    - after ordinary stores to the source of a copy, and after the wait for a tile that is copied on,
      `nvvm.fence.proxy`, before the threads that stored or waited tell others about it, or before the
      copy; after ordinary stores to a destination, before peers hear of them; and after ordinary loads
      from a destination, before a peer hears that it may copy over them;
    - a cluster barrier before each end of the kernel, early returns included.

    What a thread has done is known to others by mbarriers, barriers of the CTA, of a warp and of the
    cluster, whichever role of the kernel waits there. The first cluster barrier comes after loads from
    and stores to destinations that precede any use of a peer, where there is such a place. Buffers and
    barrier groups are followed through views, selections, branches, loops and computed addresses; what
    is not known may be any.

    The fences after loads are left out with `war-fences=false`, and in a kernel that says
    `tile.insert_sync = {war_fences = false}`.

    The cluster barriers are not `aligned`: threads of a warp may come to them one by one. Threads that
    leave while others of their CTA meet at barriers pass none. Fails where there is no right place, with
    the fix. Waits and arrivals are the kernel's own.
  }];
  let options = [
    Option<"warFences", "war-fences", "bool", /*default=*/"true",
           "Fence ordinary loads from the copies that write over what they read">
  ];
  let statistics = [
    Statistic<"visits", "points-visited", "Points of kernels that the analyses visited">
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def TileCheckSync : Pass<"tile-check-sync"> {
  let summary = "Warn about what is surely wrong in the protocol around copies";
  let description = [{
    Warns, at the op and with the fix, about kernels that would hang or corrupt data: constant bytes
    armed that the copies cannot add up to, barriers that nothing initialises or arms, that are
    initialised in a loop, or used before other threads can know of the initialisation, counts that
    the arrivals of a phase cannot reach or that one op exceeds, a missing cluster barrier or fence
    before the first use of a peer, a missing fence between stores to a source, or its arrival by
    `st_async`, and its copy, or between loads from a destination and the next copy into it, a missing
    cluster barrier at an end of the kernel, a wait on a mapped barrier, and a parity that stays the
    same while a loop goes through more phases. Says nothing where it is not sure.
  }];
  let options = [
    Option<"error", "error", "bool", /*default=*/"false", "Fail with errors instead of warning">
  ];
  let statistics = [
    Statistic<"visits", "points-visited", "Points of kernels that the analyses visited">
  ];
}

def TileAttachTarget : Pass<"tile-attach-target", "::mlir::ModuleOp"> {
  let summary = "Give each gpu.module that has no target an NVVM target";
  let description = [{
    Unlike `nvvm-attach-target`, leaves a `gpu.module` alone that carries targets already: it would be
    compiled for both.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/[{"sm_90"}], "LLVM processor">,
    Option<"features", "features", "std::string", /*default=*/[{"+ptx81"}], "PTX version">,
    Option<"optLevel", "O", "unsigned", /*default=*/"3", "LLVM optimization level">,
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def TileLowerAllReduce : Pass<"tile-lower-all-reduce"> {
  let summary = "Turn each tile.all_reduce into shuffles, stores to peers and waits";
  let description = [{
    The values are combined by shuffles in each warp; by one warp, after a CTA barrier, from shared
    memory; and by all warps, once that warp has sent the block's value to each CTA of the cluster by
    `tile.store_async`. In a cluster of 1, and in a block of one warp, the steps that nothing needs are
    left out.

    The reductions of a kernel share two sets of buffers and of mbarriers, which take turns. They are
    initialised at the top of the kernel, and announced by the first cluster barrier that the kernel
    executes before its first reduction, or by one that the pass adds.

    Fails where threads of a cluster are seen to differ in whether, or how often, they execute a
    reduction: by their number, by the CTA's, and by what is computed from these.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def TileLowerPeers : Pass<"tile-lower-peers"> {
  let summary = "Turn tile.peer and tile.store_async into addresses of peers and st.async";
  let description = [{
    A `tile.peer` becomes a descriptor whose pointers are mapped by `mapa`, for upstream's ops to
    access; a `tile.store_async` becomes one `st.async` or `red.async`. Memrefs with a `#tile.layout`
    must be expanded before.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

def TileCheckTarget : Pass<"tile-check-target"> {
  let summary = "Refuse gpu.modules whose own target cannot copy between CTAs";
  let description = [{
    LLVM ends the process on chips without clusters, on PTX versions that do not know the chip or
    `st.async`, and on triples other than `nvptx64-nvidia-cuda`.
  }];
}

def TileCheckKernels : Pass<"tile-check-kernels"> {
  let summary = "Refuse kernels that no GPU can launch, and ops in no place for them";
  let description = [{
    Sizes of blocks, clusters and grids that cannot be, names that PTX cannot write, ops in a
    `gpu.module` beside its functions, and instructions of NVVM's in the host's program. LLVM ends the
    process on most of them.
  }];
}

def TileCheckTypes : Pass<"tile-check-types"> {
  let summary = "Refuse, at their place, types and declarations on which upstream or LLVM ends the process";
  let description = [{
    Shapes of 2^63 elements or more, vectors of a scalable size, integers of no bits, memory spaces that
    are no numbers of LLVM's, `tf32`, `llvm.align` that is no power of two, and `memref.alloc` and
    `memref.alloca` of workgroup memory, which upstream takes from a GPU's heap or a thread's stack.
  }];
}

def TileCheckMemRefs : Pass<"tile-check-memrefs"> {
  let summary = "Refuse, at their place, memrefs and descriptors that upstream's conversions cannot lower";
  let description = [{
    `memref.expand_shape` with several unknown extents in one group; subviews that drop some dimensions
    of one element, keep others, and step in one of them by something else than 1; functions on a
    GPU that are handed a type of `nvgpu`; and ops of `nvgpu` in no function.
  }];
}

def TileLowerSubbyteElements : Pass<"tile-lower-subbyte-elements"> {
  let summary = "Store bools as bytes, and refuse accesses to other elements of less than a byte";
  let description = [{
    A memref of `i1` becomes one of `i8`, in device and host code alike: loads, stores, vector accesses,
    initial values and what hands such a memref on. False is 0; what is not 0 is true.

    Other elements of less than a byte are packed, as copies count them: 8 `i4` are 4 bytes. Ops that
    would access single ones are refused, and so are vector accesses to elements that memory pads, such
    as `i24`: upstream's lowering would step by one size and pack by another.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileCheckLowered : Pass<"tile-check-lowered"> {
  let summary = "Refuse, at its place, what the translation to LLVM IR would not know";
  let description = [{
    Run on a `gpu.module` once it is converted, or on the outermost module once host code is. Upstream's
    conversions leave alone what they do not know, and the translation then fails without a place, or
    ends the process.
  }];
}

def TilePlaceSharedMemory : Pass<"tile-place-shared-memory", "::mlir::ModuleOp"> {
  let summary = "Give every workgroup buffer its bytes and its place in shared memory";
  let description = [{
    Runs on the outermost module, after gpu-kernel-outlining and convert-nvgpu-to-nvvm and before
    convert-gpu-to-nvvm. Every workgroup attribution and every `memref.global` in workgroup memory gets
    the bytes that it spans and an alignment of at least 16. Where they need more than 48 KiB, the
    largest ones move to the front of dynamic shared memory until the rest fits; the launches in the
    module ask for as much more, and `tile.dynamic_shared_memory_front` on the kernel says how much, for
    launchers outside of it. `gpu.dynamic_shared_memory` becomes the memory behind, at its alignment: at
    least 128, what the attribute `tile.alignment` says, and what `memref.assume_alignment` says.

    Fails with an error on what has no static size, and on kernels that need more than 227 KiB.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def TileLegalizePrintf : Pass<"tile-legalize-printf"> {
  let summary = "Give gpu.printf arguments of the sizes that its format reads";
  let description = [{
    Integers of less than 32 bits are extended, and the format says `ll` where an argument has 64 bits.
    Fails at an op whose arguments do not fit its format.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileLegalizeMemcpy : Pass<"tile-legalize-memcpy", "::mlir::ModuleOp"> {
  let summary = "Let gpu.memcpy and gpu.memset begin where their memrefs do";
  let description = [{
    To run before `gpu-to-llvm`, which ignores offsets and strides. Views without gaps become memrefs
    that begin at their first element, others are refused. Extents that are known only at run time are
    compared there, and a copy between different ones is refused.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

def TileGuardArguments : Pass<"tile-guard-arguments", "::mlir::ModuleOp"> {
  let summary = "Let launches tell the run-time library what their kernel's arguments promise";
  let description = [{
    A kernel argument promises by `llvm.align` where its memref begins, by `tile.multiple_of` what divides its
    strides, and by `tile.offset_multiple_of` what divides its offset; plans rely on it. Each launch hands the
    numbers to the run-time library, which refuses it where one breaks its promise. To run after
    `gpu-kernel-outlining`, while kernels are still `gpu.func`s.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def TileGuardLaunches : Pass<"tile-guard-launches", "::mlir::ModuleOp"> {
  let summary = "Let launches give back their stack, and be of the size that their kernel knows";
  let description = [{
    To run after `gpu-to-llvm`, while kernels are still there. A launch in a loop gives the stack of its
    arguments back; one of a kernel with a `known_grid_size` or `known_block_size` tells the run-time
    library of it, which refuses other sizes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def TileAddLineInfo : Pass<"tile-add-line-info"> {
  let summary = "Give each llvm.func of a gpu.module, and its ops, scopes for their places";
  let description = [{
    The translation to LLVM IR drops places that are in no function's scope. Unlike
    `ensure-debug-info-scope-on-llvm-func` it keeps the file of each op. Of a place inside of calls, such
    as those of `ir.loc_tracebacks()`, the innermost one counts.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def TileEmbedKernels : Pass<"tile-embed-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn each gpu.module into a gpu.binary";
  let description = [{
    As `gpu-module-to-binary`, which it calls, but with errors at their ops: an instruction that the
    target lacks, with the PTX version or the chips that have it, and inline assembly whose
    constraints or operands do not fit. The binary holds nothing that changes from run to run.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/[{"isa"}],
           "What to embed: isa (PTX), bin, fatbin or offload">,
    Option<"toolkit", "toolkit", "std::string", /*default=*/[{""}], "Folder of the CUDA toolkit">,
    Option<"lineInfo", "line-info", "bool", /*default=*/"false", "Keep places that are in a function's scope">,
  ];
}

def TileExpandLayout : Pass<"tile-expand-layout"> {
  let summary = "Turn memrefs with a #tile.layout into flat ones and computed addresses";
  let description = [{
    A full conversion: loads, stores, vector transfers, copies, views and slices of memrefs with a
    `#tile.layout` become accesses to flat buffers, each as large as its layout spans, and the values
    that carry them (arguments, results, loop and branch arguments) become a flat memref and, where
    the layout's offset is `?`, an index. Vectors stay as wide as is proved contiguous; a swizzle is
    one `arith.xori`. What cannot take such a memref is refused by name.
  }];
  let options = [
    Option<"checkAssumptions", "check-assumptions", "bool", "false",
           "Check tile.assume_multiple at run time">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // TILE_PASSES_TD
