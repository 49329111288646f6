// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every buffer gets the bytes that it spans, and a place of its own: what `tile-place-shared-memory`
// makes of each kind of workgroup memory.

// RUN: tile-opt %s --split-input-file --tile-place-shared-memory | FileCheck %s

// 7 rows of 128 elements and 64 elements of the last one: 960, where upstream allocates 512.

// CHECK-LABEL: gpu.func @strided_attribution
// CHECK-SAME:    workgroup(%[[FLAT:.*]] : memref<960xf16, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK-NEXT:    %[[VIEW:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [0], sizes: [8, 64], strides: [128, 1]
// CHECK:         memref.load %[[VIEW]]
gpu.module @kernels {
  gpu.func @strided_attribution(%out: memref<1xf16>)
      workgroup(%a: memref<8x64xf16, strided<[128, 1]>, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0, %c0] : memref<8x64xf16, strided<[128, 1]>, #gpu.address_space<workgroup>>
    memref.store %x, %out[%c0] : memref<1xf16>
    gpu.return
  }
}

// -----

// The offset is part of the span; strides of extent 1, and broadcasts, are not.

// CHECK-LABEL: gpu.func @offset_and_broadcast
// CHECK-SAME:    memref<74xf32, #gpu.address_space<workgroup>>
// CHECK-SAME:    memref<64xf32, #gpu.address_space<workgroup>>
// CHECK-SAME:    memref<0xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @offset_and_broadcast()
      workgroup(%a: memref<1x64xf32, strided<[4096, 1], offset: 10>, #gpu.address_space<workgroup>>,
                %b: memref<4x64xf32, strided<[0, 1]>, #gpu.address_space<workgroup>>,
                %c: memref<0x64xf32, strided<[128, 1]>, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

// A layout given as a map counts as its strides do, and users keep the type that they had.

// CHECK-LABEL: gpu.func @map_layout
// CHECK-SAME:    memref<31xf32, 3>
// CHECK:         %[[VIEW:.*]] = memref.reinterpret_cast
// CHECK-NEXT:    %[[CAST:.*]] = memref.cast %[[VIEW]]
// CHECK:         memref.load %[[CAST]]
gpu.module @kernels {
  gpu.func @map_layout(%out: memref<1xf32>)
      workgroup(%a: memref<4x4xf32, affine_map<(i, j) -> (i * 9 + j)>, 3>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0, %c0] : memref<4x4xf32, affine_map<(i, j) -> (i * 9 + j)>, 3>
    memref.store %x, %out[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

// Alignments are at least 16, never lowered, and what memref.assume_alignment says is made true.

// CHECK-LABEL: gpu.func @alignment
// CHECK-SAME:    memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}
// CHECK-SAME:    memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 512 : i64}
// CHECK-SAME:    memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 256 : i64}
gpu.module @kernels {
  gpu.func @alignment()
      workgroup(%a: memref<4xf32, #gpu.address_space<workgroup>>,
                %b: memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 512 : i64},
                %c: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    %assumed = memref.assume_alignment %c, 256 : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// A global is the module's own, also where it is written as a declaration.

// CHECK: memref.global "private" @barrier : memref<1xi64, 3> {alignment = 16 : i64}
// CHECK: memref.global "private" @declared : memref<208xf16, 3> {alignment = 64 : i64}
// CHECK: memref.global "private" @host_memory : memref<4xf32>{{$}}
gpu.module @kernels {
  memref.global "private" @barrier : memref<1xi64, 3> {alignment = 8 : i64}
  memref.global @declared : memref<4x16xf16, strided<[64, 1]>, 3> {alignment = 64 : i64}
  memref.global "private" @host_memory : memref<4xf32>
  // CHECK-LABEL: gpu.func @globals
  // CHECK: %[[FLAT:.*]] = memref.get_global @declared : memref<208xf16, 3>
  // CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [0], sizes: [4, 16], strides: [64, 1]
  // CHECK: memref.load %[[VIEW]]
  gpu.func @globals(%out: memref<1xf16>, %i: memref<1xi64>, %f: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = memref.get_global @declared : memref<4x16xf16, strided<[64, 1]>, 3>
    %b = memref.get_global @barrier : memref<1xi64, 3>
    %h = memref.get_global @host_memory : memref<4xf32>
    %x = memref.load %a[%c0, %c0] : memref<4x16xf16, strided<[64, 1]>, 3>
    %y = memref.load %b[%c0] : memref<1xi64, 3>
    %z = memref.load %h[%c0] : memref<4xf32>
    memref.store %x, %out[%c0] : memref<1xf16>
    memref.store %y, %i[%c0] : memref<1xi64>
    memref.store %z, %f[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

// Dynamic memory is an external array at its alignment, and views of it stay views.

// CHECK: memref.global @__dynamic_shared_memory : memref<0xi8, #gpu.address_space<workgroup>> {alignment = 128 : i64}
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @dynamic_default
  // CHECK: %[[BASE:.*]] = memref.get_global @__dynamic_shared_memory
  // CHECK: %[[SHIFT:.*]] = arith.constant 64 : index
  // CHECK: memref.view %[[BASE]][%[[SHIFT]]][] : memref<0xi8, #gpu.address_space<workgroup>> to memref<4xf32, #gpu.address_space<workgroup>>
  // CHECK-NOT: dynamic_smem_size
  gpu.func @dynamic_default(%out: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %a = memref.view %dynamic[%c64][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<4xf32, #gpu.address_space<workgroup>>
    %x = memref.load %a[%c0] : memref<4xf32, #gpu.address_space<workgroup>>
    memref.store %x, %out[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

// The alignment is the largest that anything asks for.

// CHECK: memref.global @__dynamic_shared_memory : memref<0xi8, #gpu.address_space<workgroup>> {alignment = 512 : i64}
gpu.module @kernels {
  gpu.func @dynamic_attribute() kernel {
    %dynamic = gpu.dynamic_shared_memory {tile.alignment = 512 : i64} : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
  gpu.func @dynamic_assumed() kernel {
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %a = memref.assume_alignment %dynamic, 256 : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// A view at a multiple of its alignment says as much about the start.

// CHECK: memref.global @__dynamic_shared_memory : memref<0xi8, #gpu.address_space<workgroup>> {alignment = 1024 : i64}
gpu.module @kernels {
  gpu.func @dynamic_assumed_view() kernel {
    %c2048 = arith.constant 2048 : index
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %a = memref.view %dynamic[%c2048][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<4xf32, #gpu.address_space<workgroup>>
    %b = memref.assume_alignment %a, 1024 : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// Who asks for the size of dynamic memory gets what the launch gave, without the buffers in front.

// CHECK-LABEL: gpu.func @dynamic_size
// CHECK-SAME:    workgroup(%{{.*}} : memref<16xi8
// CHECK:         %[[FRONT:.*]] = arith.constant 49152 : index
// CHECK:         %[[GIVEN:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.dynamic_smem_size"
// CHECK:         %[[ALL:.*]] = arith.index_castui %[[GIVEN]] : i32 to index
// CHECK:         %[[OWN:.*]] = arith.subi %[[ALL]], %[[FRONT]] : index
// CHECK:         %[[VIEW:.*]] = memref.view %{{.*}}[%[[FRONT]]][%[[OWN]]]
// CHECK:         memref.dim %[[VIEW]]
gpu.module @kernels {
  gpu.func @dynamic_size(%out: memref<1xindex>)
      workgroup(%a: memref<16xi8, #gpu.address_space<workgroup>>,
                %b: memref<49152xi8, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %n = memref.dim %dynamic, %c0 : memref<?xi8, #gpu.address_space<workgroup>>
    memref.store %n, %out[%c0] : memref<1xindex>
    gpu.return
  }
}

// -----

// A buffer of no elements has no strides to speak of, and needs no bytes. The kernel is compiled, too.

// CHECK-LABEL: gpu.func @no_elements
// CHECK-SAME:    workgroup(%[[A:.*]] : memref<0xi8, #gpu.address_space<workgroup>>
gpu.module @kernels {
  gpu.func @no_elements(%i: index, %x: f16)
      workgroup(%a: memref<64x0xf16, #gpu.address_space<workgroup>>) kernel {
    // CHECK: %[[VIEW:.*]] = memref.view %[[A]][{{.*}}][] : memref<0xi8, {{.*}}> to memref<64x0xf16, #gpu.address_space<workgroup>>
    // CHECK: memref.store %{{.*}}, %[[VIEW]]
    memref.store %x, %a[%i, %i] : memref<64x0xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// Packed elements count as their bits: 5 x 3 i4 are 8 bytes, and 25 with gaps are 13. Users see what they
// saw.

// CHECK: memref.global "private" @table : memref<3xi8, 3> {alignment = 16 : i64}
// CHECK-LABEL: gpu.func @packed
// CHECK-SAME:    workgroup(%[[A:.*]] : memref<8xi8, 3> {{.*}}, %[[B:.*]] : memref<13xi8, 3>
gpu.module @kernels {
  memref.global "private" @table : memref<9xi2, 3>
  gpu.func @packed(%out: memref<3xindex>)
      workgroup(%a: memref<5x3xi4, 3>, %b: memref<5x5xf4E2M1FN, strided<[5, 1]>, 3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK-DAG: %[[SEEN_B:.*]] = memref.view %[[B]][{{.*}}][] : memref<13xi8, 3> to memref<25xf4E2M1FN, 3>
    // CHECK-DAG: %[[STRIDED_B:.*]] = memref.reinterpret_cast %[[SEEN_B]] to offset: [0], sizes: [5, 5], strides: [5, 1]
    // CHECK-DAG: %[[SEEN_A:.*]] = memref.view %[[A]][{{.*}}][] : memref<8xi8, 3> to memref<5x3xi4, 3>
    // CHECK: memref.extract_aligned_pointer_as_index %[[SEEN_A]] : memref<5x3xi4, 3>
    %at = memref.extract_aligned_pointer_as_index %a : memref<5x3xi4, 3> -> index
    // CHECK: memref.extract_aligned_pointer_as_index %[[STRIDED_B]]
    %bt = memref.extract_aligned_pointer_as_index %b : memref<5x5xf4E2M1FN, strided<[5, 1]>, 3> -> index
    // CHECK: %[[TABLE:.*]] = memref.get_global @table : memref<3xi8, 3>
    // CHECK: memref.view %[[TABLE]][{{.*}}][] : memref<3xi8, 3> to memref<9xi2, 3>
    %table = memref.get_global @table : memref<9xi2, 3>
    %ct = memref.extract_aligned_pointer_as_index %table : memref<9xi2, 3> -> index
    memref.store %at, %out[%c0] : memref<3xindex>
    memref.store %bt, %out[%c0] : memref<3xindex>
    memref.store %ct, %out[%c1] : memref<3xindex>
    gpu.return
  }
}

// -----

// In dynamic memory, too: two tiles of 96 KiB fit, which would be 192 KiB each at a byte for an element.

// CHECK-LABEL: gpu.func @packed_front
// CHECK-SAME:    tile.dynamic_shared_memory_front = 196608 : i64
gpu.module @kernels {
  gpu.func @packed_front() workgroup(%a: memref<192x1024xi4, 3>, %b: memref<192x1024xi4, 3>) kernel {
    gpu.return
  }
}
