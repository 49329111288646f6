// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Static buffers beyond 48 KiB in sum move to the front of dynamic memory, the largest first, and every
// launch asks for as much more.

// RUN: tile-opt %s --split-input-file --tile-place-shared-memory --canonicalize | FileCheck %s

// The largest goes, the rest fits. The kernel's own dynamic memory begins behind it, at its alignment.

// CHECK: memref.global @__dynamic_shared_memory
// CHECK-LABEL: gpu.func @largest_first
// CHECK-SAME:    workgroup(%{{.*}} : memref<20000xi8, 3> {llvm.align = 16 : i64}, %{{.*}} : memref<9000xi8, 3> {llvm.align = 16 : i64})
// CHECK-SAME:    tile.dynamic_shared_memory_front = 30080 : i64
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C30080:.*]] = arith.constant 30080 : index
// CHECK-DAG:     memref.view %{{.*}}[%[[C0]]][] : memref<0xi8, 3> to memref<30000xi8, 3>
// CHECK-DAG:     memref.view %{{.*}}[%[[C30080]]][] : memref<0xi8, #gpu.address_space<workgroup>> to memref<8xi8, #gpu.address_space<workgroup>>
// CHECK-LABEL: func.func @two_launches
// CHECK-DAG:     %[[GIVEN:.*]] = arith.constant 31080 : i32
// CHECK-DAG:     %[[NONE:.*]] = arith.constant 30080 : i32
// CHECK:         gpu.launch_func @kernels::@largest_first {{.*}} dynamic_shared_memory_size %[[GIVEN]]
// CHECK:         gpu.launch_func @kernels::@largest_first {{.*}} dynamic_shared_memory_size %[[NONE]]
// CHECK:         %[[SUM:.*]] = arith.addi %{{.*}}, %[[NONE]] : i32
// CHECK:         gpu.launch_func @kernels::@largest_first {{.*}} dynamic_shared_memory_size %[[SUM]]
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @largest_first(%out: memref<4xi8>)
        workgroup(%a: memref<20000xi8, 3>, %b: memref<30000xi8, 3>, %c: memref<9000xi8, 3>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %d = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8xi8, #gpu.address_space<workgroup>>
      %w = memref.load %a[%c0] : memref<20000xi8, 3>
      %x = memref.load %b[%c0] : memref<30000xi8, 3>
      %y = memref.load %c[%c0] : memref<9000xi8, 3>
      %z = memref.load %d[%c0] : memref<8xi8, #gpu.address_space<workgroup>>
      memref.store %w, %out[%c0] : memref<4xi8>
      memref.store %x, %out[%c1] : memref<4xi8>
      memref.store %y, %out[%c2] : memref<4xi8>
      memref.store %z, %out[%c3] : memref<4xi8>
      gpu.return
    }
  }
  func.func @two_launches(%out: memref<4xi8>, %bytes: i32) {
    %c1 = arith.constant 1 : index
    %given = arith.constant 1000 : i32
    gpu.launch_func @kernels::@largest_first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %given args(%out : memref<4xi8>)
    gpu.launch_func @kernels::@largest_first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%out : memref<4xi8>)
    gpu.launch_func @kernels::@largest_first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%out : memref<4xi8>)
    return
  }
}

// -----

// Of equals the first goes. The most aligned lies in front, so that nothing is lost between.

// CHECK-LABEL: gpu.func @equals
// CHECK-SAME:    workgroup(%{{.*}} : memref<40000xi8, 3> {llvm.align = 16 : i64})
// CHECK-SAME:    tile.dynamic_shared_memory_front = 80016 : i64
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant 40000 : index
// CHECK-DAG:     %[[SECOND:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[A:.*]] = memref.view %{{.*}}[%[[FIRST]]][] : memref<0xi8, 3> to memref<40001xi8, 3>
// CHECK-DAG:     %[[B:.*]] = memref.view %{{.*}}[%[[SECOND]]][] : memref<0xi8, 3> to memref<40000xi8, 3>
// CHECK:         memref.load %[[A]]
// CHECK:         memref.load %[[B]]
gpu.module @kernels {
  gpu.func @equals(%out: memref<1xi8>)
      workgroup(%a: memref<40001xi8, 3>, %b: memref<40000xi8, 3> {llvm.align = 256 : i64},
                %c: memref<40000xi8, 3>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<40001xi8, 3>
    %y = memref.load %b[%c0] : memref<40000xi8, 3>
    %z = memref.load %c[%c0] : memref<40000xi8, 3>
    memref.store %x, %out[%c0] : memref<1xi8>
    memref.store %y, %out[%c0] : memref<1xi8>
    memref.store %z, %out[%c0] : memref<1xi8>
    gpu.return
  }
}

// -----

// A strided buffer moves with its whole span, and a global as an attribution does.

// CHECK-NOT:     memref.global "private" @large
// CHECK-LABEL: gpu.func @strided_and_global
// CHECK-SAME:    tile.dynamic_shared_memory_front = 110960 : i64
// CHECK-DAG:     %[[GLOBAL:.*]] = arith.constant 60960 : index
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant 0 : index
// CHECK:         %[[FLAT:.*]] = memref.view %{{.*}}[%[[FIRST]]][] : memref<0xi8, 3> to memref<60960xi8, 3>
// CHECK-NEXT:    memref.reinterpret_cast %[[FLAT]] to offset: [103], sizes: [300, 160], strides: [203, 1]
// CHECK-NEXT:    memref.view %{{.*}}[%[[GLOBAL]]][] : memref<0xi8, 3> to memref<50000xi8, 3>
gpu.module @kernels {
  memref.global "private" @large : memref<50000xi8, 3>
  gpu.func @strided_and_global(%out: memref<1xi8>)
      workgroup(%a: memref<300x160xi8, strided<[203, 1], offset: 103>, 3>) kernel {
    %c0 = arith.constant 0 : index
    %b = memref.get_global @large : memref<50000xi8, 3>
    %x = memref.load %a[%c0, %c0] : memref<300x160xi8, strided<[203, 1], offset: 103>, 3>
    %y = memref.load %b[%c0] : memref<50000xi8, 3>
    memref.store %x, %out[%c0] : memref<1xi8>
    memref.store %y, %out[%c0] : memref<1xi8>
    gpu.return
  }
}

// -----

// Each kernel is placed for itself: a global may be moved in one and static in another.

// CHECK:         memref.global "private" @shared : memref<30000xi8, 3>
// CHECK-LABEL: gpu.func @moves_it
// CHECK-SAME:    workgroup(%{{.*}} : memref<20000xi8, 3> {llvm.align = 16 : i64})
// CHECK-SAME:    tile.dynamic_shared_memory_front = 30000 : i64
// CHECK-NOT:     memref.get_global @shared
// CHECK-LABEL: gpu.func @keeps_it
// CHECK-NOT:     tile.dynamic_shared_memory_front
// CHECK:         memref.get_global @shared
gpu.module @kernels {
  memref.global "private" @shared : memref<30000xi8, 3>
  gpu.func @moves_it(%out: memref<1xi8>) workgroup(%a: memref<20000xi8, 3>) kernel {
    %c0 = arith.constant 0 : index
    %b = memref.get_global @shared : memref<30000xi8, 3>
    %y = memref.load %b[%c0] : memref<30000xi8, 3>
    memref.store %y, %out[%c0] : memref<1xi8>
    gpu.return
  }
  gpu.func @keeps_it(%out: memref<1xi8>) kernel {
    %c0 = arith.constant 0 : index
    %b = memref.get_global @shared : memref<30000xi8, 3>
    %y = memref.load %b[%c0] : memref<30000xi8, 3>
    memref.store %y, %out[%c0] : memref<1xi8>
    gpu.return
  }
}

// -----

// What a device function declares or names counts for every kernel and stays where it is. Its dynamic
// memory begins at one place, whichever kernel calls it.

// CHECK:         memref.global "private" @pinned : memref<20000xi8, 3>
// CHECK-LABEL: gpu.func @device_function
// CHECK:         %[[FRONT:.*]] = arith.constant 30080 : index
// CHECK:         memref.view %{{.*}}[%[[FRONT]]][] : {{.*}} to memref<8xi8, #gpu.address_space<workgroup>>
// CHECK-LABEL: gpu.func @large
// CHECK-SAME:    tile.dynamic_shared_memory_front = 30080 : i64
// CHECK-LABEL: gpu.func @small
// CHECK-SAME:    workgroup(%{{.*}} : memref<64xi8, 3>
// CHECK-SAME:    tile.dynamic_shared_memory_front = 30080 : i64
gpu.module @kernels {
  memref.global "private" @pinned : memref<20000xi8, 3>
  gpu.func @device_function(%out: memref<1xi8>) {
    %c0 = arith.constant 0 : index
    %a = memref.get_global @pinned : memref<20000xi8, 3>
    %x = memref.load %a[%c0] : memref<20000xi8, 3>
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %d = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8xi8, #gpu.address_space<workgroup>>
    %y = memref.load %d[%c0] : memref<8xi8, #gpu.address_space<workgroup>>
    memref.store %x, %out[%c0] : memref<1xi8>
    memref.store %y, %out[%c0] : memref<1xi8>
    gpu.return
  }
  gpu.func @large(%out: memref<1xi8>) workgroup(%a: memref<30000xi8, 3>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<30000xi8, 3>
    memref.store %x, %out[%c0] : memref<1xi8>
    gpu.return
  }
  gpu.func @small() workgroup(%a: memref<64xi8, 3>) kernel {
    gpu.return
  }
}
