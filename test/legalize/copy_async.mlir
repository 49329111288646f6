// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a plan becomes: two mapa, for the data and for the barrier, and one bulk copy for each chunk. The
// legalization obeys the plan, so the plans here need not be what the analysis would find.
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s --implicit-check-not=tile. --implicit-check-not=mapa --implicit-check-not=cp.async.bulk

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @one_chunk(
// CHECK-SAME: %[[RANK:.*]]: i32, %[[BARS:[^:]*]]: !nvgpu{{.*}}, %[[I:.*]]: index) workgroup(%[[SRC:[^ ]*]] : {{.*}}, %[[DST:[^ ]*]] :
// CHECK-NEXT: %[[SRC_INDEX:.*]] = memref.extract_aligned_pointer_as_index %[[SRC]]
// CHECK-NEXT: %[[SRC_INT:.*]] = arith.index_cast %[[SRC_INDEX]] : index to i64
// CHECK-NEXT: %[[SRC_PTR:.*]] = llvm.inttoptr %[[SRC_INT]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: %[[DST_INDEX:.*]] = memref.extract_aligned_pointer_as_index %[[DST]]
// CHECK-NEXT: %[[DST_INT:.*]] = arith.index_cast %[[DST_INDEX]] : index to i64
// CHECK-NEXT: %[[DST_PTR:.*]] = llvm.inttoptr %[[DST_INT]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: %[[PEER_DST:.*]] = nvvm.mapa %[[DST_PTR]], %[[RANK]] : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK-NEXT: %[[BAR_INT:.*]] = nvgpu.mbarrier.get %[[BARS]][%[[I]]]
// CHECK-NEXT: %[[BAR_PTR:.*]] = llvm.inttoptr %[[BAR_INT]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: %[[PEER_BAR:.*]] = nvvm.mapa %[[BAR_PTR]], %[[RANK]] : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK-NEXT: %[[PEER_BAR_INT:.*]] = llvm.ptrtoint %[[PEER_BAR]] : !llvm.ptr<7> to i64
// CHECK-NEXT: %[[PEER_BAR_3:.*]] = llvm.inttoptr %[[PEER_BAR_INT]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: %[[BYTES:.*]] = arith.constant 64 : i32
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[PEER_DST]], %[[SRC_PTR]], %[[PEER_BAR_3]], %[[BYTES]] : <7>, <3>
// CHECK-NEXT: gpu.return
gpu.func @one_chunk(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}
      : !tile to !tile, !bars
  gpu.return
}

// The starts are added before the destination is mapped.
// CHECK-LABEL: gpu.func @starts(
// CHECK: %[[SRC_PTR:.*]] = llvm.inttoptr
// CHECK-NEXT: %[[SRC_START:.*]] = llvm.getelementptr %[[SRC_PTR]][32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: %[[DST_PTR:.*]] = llvm.inttoptr
// CHECK-NEXT: %[[DST_START:.*]] = llvm.getelementptr %[[DST_PTR]][48] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK-NEXT: %[[PEER_DST:.*]] = nvvm.mapa %[[DST_START]],
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[PEER_DST]], %[[SRC_START]],
// CHECK-NEXT: gpu.return
gpu.func @starts(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 32, steps = []>, dst = <start = 48, steps = []>>}
      : !tile to !tile, !bars
  gpu.return
}

// Up to 8 copies are written out, in the order of the loops, with steps that may run backwards.
// CHECK-LABEL: gpu.func @eight_chunks(
// CHECK: %[[SRC:.*]] = llvm.getelementptr %{{.*}}[32]
// CHECK: %[[DST:.*]] = nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[BARRIER:.*]] = llvm.inttoptr
// CHECK-NEXT: %[[BYTES:.*]] = arith.constant 64 : i32
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST]], %[[SRC]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_1:.*]] = llvm.getelementptr %[[DST]][-64] : (!llvm.ptr<7>) -> !llvm.ptr<7>, i8
// CHECK-NEXT: %[[SRC_1:.*]] = llvm.getelementptr %[[SRC]][256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_1]], %[[SRC_1]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_2:.*]] = llvm.getelementptr %[[DST]][-128]
// CHECK-NEXT: %[[SRC_2:.*]] = llvm.getelementptr %[[SRC]][512]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_2]], %[[SRC_2]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_3:.*]] = llvm.getelementptr %[[DST]][-192]
// CHECK-NEXT: %[[SRC_3:.*]] = llvm.getelementptr %[[SRC]][768]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_3]], %[[SRC_3]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_4:.*]] = llvm.getelementptr %[[DST]][4096]
// CHECK-NEXT: %[[SRC_4:.*]] = llvm.getelementptr %[[SRC]][2048]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_4]], %[[SRC_4]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_5:.*]] = llvm.getelementptr %[[DST]][4032]
// CHECK-NEXT: %[[SRC_5:.*]] = llvm.getelementptr %[[SRC]][2304]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_5]], %[[SRC_5]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_6:.*]] = llvm.getelementptr %[[DST]][3968]
// CHECK-NEXT: %[[SRC_6:.*]] = llvm.getelementptr %[[SRC]][2560]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_6]], %[[SRC_6]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: %[[DST_7:.*]] = llvm.getelementptr %[[DST]][3904]
// CHECK-NEXT: %[[SRC_7:.*]] = llvm.getelementptr %[[SRC]][2816]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_7]], %[[SRC_7]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: gpu.return
gpu.func @eight_chunks(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [2, 4],
                              src = <start = 32, steps = [2048, 256]>, dst = <start = 0, steps = [4096, -64]>>}
      : !tile to !tile, !bars
  gpu.return
}

// More are copied in rounds of 64, which the PTX assembler shall leave rolled. What they leave over
// stands behind the loop: 150 = 2 * 64 + 22.
// CHECK-LABEL: gpu.func @rounds(
// CHECK: %[[SRC:.*]] = llvm.inttoptr
// CHECK: %[[DST:.*]] = nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[BARRIER:.*]] = llvm.inttoptr
// CHECK-NEXT: %[[BYTES:.*]] = arith.constant 64 : i32
// CHECK-NEXT: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[END:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT: scf.for %[[J:.*]] = %[[FIRST]] to %[[END]] step %[[ONE]] {
// CHECK-NEXT:   %[[SRC_STEP:.*]] = arith.constant 8192 : index
// CHECK-NEXT:   %[[SRC_BYTES:.*]] = arith.muli %[[J]], %[[SRC_STEP]] : index
// CHECK-NEXT:   %[[DST_STEP:.*]] = arith.constant 16384 : index
// CHECK-NEXT:   %[[DST_BYTES:.*]] = arith.muli %[[J]], %[[DST_STEP]] : index
// CHECK-NEXT:   %[[DST_INT:.*]] = arith.index_cast %[[DST_BYTES]] : index to i64
// CHECK-NEXT:   %[[TO:.*]] = llvm.getelementptr %[[DST]][%[[DST_INT]]] : (!llvm.ptr<7>, i64) -> !llvm.ptr<7>, i8
// CHECK-NEXT:   %[[SRC_INT:.*]] = arith.index_cast %[[SRC_BYTES]] : index to i64
// CHECK-NEXT:   %[[FROM:.*]] = llvm.getelementptr %[[SRC]][%[[SRC_INT]]] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
// CHECK-NEXT:   nvvm.cp.async.bulk.shared.cluster.shared.cta %[[TO]], %[[FROM]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT:   %[[SRC_ON:.*]] = arith.constant 128 : index
// CHECK-NEXT:   %[[SRC_1:.*]] = arith.addi %[[SRC_BYTES]], %[[SRC_ON]] : index
// CHECK-NEXT:   %[[DST_ON:.*]] = arith.constant 256 : index
// CHECK-NEXT:   %[[DST_1:.*]] = arith.addi %[[DST_BYTES]], %[[DST_ON]] : index
// CHECK-COUNT-63: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK-NEXT: } {loop_annotation = #loop_annotation}
// CHECK-NEXT: %[[DST_LEFT:.*]] = llvm.getelementptr %[[DST]][32768]
// CHECK-NEXT: %[[SRC_LEFT:.*]] = llvm.getelementptr %[[SRC]][16384]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_LEFT]], %[[SRC_LEFT]], %[[BARRIER]], %[[BYTES]]
// CHECK-COUNT-20: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK-NEXT: %[[DST_LAST:.*]] = llvm.getelementptr %[[DST]][38144]
// CHECK-NEXT: %[[SRC_LAST:.*]] = llvm.getelementptr %[[SRC]][19072]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[DST_LAST]], %[[SRC_LAST]], %[[BARRIER]], %[[BYTES]]
// CHECK-NEXT: gpu.return
gpu.func @rounds(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 150, loops = [150],
                              src = <start = 0, steps = [128]>, dst = <start = 0, steps = [256]>>}
      : !tile to !tile, !bars
  gpu.return
}

// One loop for each loop of the plan that is not written out.
// CHECK-LABEL: gpu.func @two_loops(
// CHECK: %[[SRC:.*]] = llvm.inttoptr
// CHECK: %[[DST:.*]] = nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: arith.constant 3 : index
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:   %[[SRC_OUTER:.*]] = arith.constant 16384 : index
// CHECK-NEXT:   %[[SRC_J:.*]] = arith.muli %[[J]], %[[SRC_OUTER]] : index
// CHECK-NEXT:   %[[DST_OUTER:.*]] = arith.constant 65536 : index
// CHECK-NEXT:   %[[DST_J:.*]] = arith.muli %[[J]], %[[DST_OUTER]] : index
// CHECK-NEXT:   arith.constant 0 : index
// CHECK-NEXT:   %[[END:.*]] = arith.constant 2 : index
// CHECK-NEXT:   arith.constant 1 : index
// CHECK-NEXT:   scf.for %[[K:.*]] = %{{.*}} to %[[END]] step %{{.*}} {
// CHECK-NEXT:     %[[SRC_INNER:.*]] = arith.constant 4096 : index
// CHECK-NEXT:     %[[SRC_K:.*]] = arith.muli %[[K]], %[[SRC_INNER]] : index
// CHECK-NEXT:     %[[SRC_BYTES:.*]] = arith.addi %[[SRC_J]], %[[SRC_K]] : index
// CHECK-NEXT:     %[[DST_INNER:.*]] = arith.constant 8192 : index
// CHECK-NEXT:     %[[DST_K:.*]] = arith.muli %[[K]], %[[DST_INNER]] : index
// CHECK-NEXT:     %[[DST_BYTES:.*]] = arith.addi %[[DST_J]], %[[DST_K]] : index
// CHECK-NEXT:     %[[DST_INT:.*]] = arith.index_cast %[[DST_BYTES]]
// CHECK-NEXT:     %[[TO:.*]] = llvm.getelementptr %[[DST]][%[[DST_INT]]]
// CHECK-NEXT:     %[[SRC_INT:.*]] = arith.index_cast %[[SRC_BYTES]]
// CHECK-NEXT:     %[[FROM:.*]] = llvm.getelementptr %[[SRC]][%[[SRC_INT]]]
// CHECK-NEXT:     nvvm.cp.async.bulk.shared.cluster.shared.cta %[[TO]], %[[FROM]],
// CHECK-COUNT-63: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK-NEXT:   } {loop_annotation
// CHECK-NEXT: } {loop_annotation
// CHECK-NEXT: gpu.return
gpu.func @two_loops(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 384, loops = [3, 128],
                              src = <start = 0, steps = [16384, 64]>, dst = <start = 0, steps = [65536, 128]>>}
      : !tile to !tile, !bars
  gpu.return
}

// Nothing is emitted for a tile of no elements: no address, no mapa, no copy.
// CHECK-LABEL: gpu.func @no_elements(
// CHECK-NEXT: gpu.return
gpu.func @no_elements(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<0xf32, #wg>, %dst: memref<0xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 0, count = 0, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}
      : memref<0xf32, #wg> to memref<0xf32, #wg>, !bars
  gpu.return
}

// A run-time offset is read from the memref, in elements of 4 bytes.
// CHECK-LABEL: gpu.func @offset_at_run_time(
// CHECK-SAME: %[[SRC:[^:]*]]: memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>)
// CHECK-NEXT: %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}, %{{.*}} = memref.extract_strided_metadata %[[SRC]]
// CHECK-NEXT: %[[ELEMENT_BYTES:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[OFFSET_BYTES:.*]] = arith.muli %[[OFFSET]], %[[ELEMENT_BYTES]] : index
// CHECK-NEXT: %[[INDEX:.*]] = memref.extract_aligned_pointer_as_index %[[BASE]]
// CHECK-NEXT: %[[INT:.*]] = arith.index_cast %[[INDEX]]
// CHECK-NEXT: %[[PTR:.*]] = llvm.inttoptr %[[INT]]
// CHECK-NEXT: %[[OFFSET_INT:.*]] = arith.index_cast %[[OFFSET_BYTES]]
// CHECK-NEXT: %[[FROM:.*]] = llvm.getelementptr %[[PTR]][%[[OFFSET_INT]]] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %{{.*}}, %[[FROM]],
gpu.func @offset_at_run_time(%rank: i32, %bars: !bars, %i: index,
                             %src: memref<16xf32, strided<[1], offset: ?>, #wg>)
    workgroup(%dst: !tile) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}
      : memref<16xf32, strided<[1], offset: ?>, #wg> to !tile, !bars
  gpu.return
}

}

// A module in the outermost one is legalized with it.
module @nested {
gpu.module @kernels {
// CHECK-LABEL: gpu.func @in_a_nested_module(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta
gpu.func @in_a_nested_module(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}
      : !tile to !tile, !bars
  gpu.return
}
}
}
