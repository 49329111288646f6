// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bool is a byte wherever a memref of it goes; other memrefs stay as they are.
// RUN: tile-opt %s -tile-lower-subbyte-elements | FileCheck %s

// CHECK: memref.global "private" constant @table : memref<2xi8> = dense<[0, 1]>
memref.global "private" constant @table : memref<2xi1> = dense<[false, true]>
// CHECK: func.func private @declared(memref<?xi8, strided<[?], offset: ?>>, memref<*xi8>)
func.func private @declared(memref<?xi1, strided<[?], offset: ?>>, memref<*xi1>)

// CHECK-LABEL: func.func @elements(
// CHECK-SAME:    %[[MASK:.*]]: memref<8xi8>, %{{.*}}: memref<8xi32>, %[[I:.*]]: index) -> i1
func.func @elements(%mask: memref<8xi1>, %other: memref<8xi32>, %i: index) -> i1 {
  // CHECK: %[[BYTE:.*]] = memref.load %[[MASK]][%[[I]]] : memref<8xi8>
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i8
  // CHECK: %[[X:.*]] = arith.cmpi ne, %[[BYTE]], %[[ZERO]] : i8
  %x = memref.load %mask[%i] : memref<8xi1>
  // CHECK: %[[STORED:.*]] = arith.extui %[[X]] : i1 to i8
  // CHECK: memref.store %[[STORED]], %[[MASK]][%[[I]]] : memref<8xi8>
  memref.store %x, %mask[%i] : memref<8xi1>
  // CHECK: memref.load %{{.*}} : memref<8xi32>
  %y = memref.load %other[%i] : memref<8xi32>
  // CHECK: return %[[X]]
  return %x : i1
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%mask: memref<8x64xi1>, %i: index, %which: vector<8xi1>, %padding: i1) {
  // CHECK: %[[V:.*]] = vector.load {{.*}} : memref<8x64xi8>, vector<8xi8>
  // CHECK: %[[X:.*]] = arith.cmpi ne, %[[V]], %{{.*}} : vector<8xi8>
  %x = vector.load %mask[%i, %i] : memref<8x64xi1>, vector<8xi1>
  // The mask of an access stays what it is, and so does the condition of a select.
  // CHECK: %[[BYTES:.*]] = arith.extui %[[X]] : vector<8xi1> to vector<8xi8>
  // CHECK: vector.maskedload {{.*}}, %{{.*}}, %[[BYTES]] : memref<8x64xi8>, vector<8xi1>, vector<8xi8> into vector<8xi8>
  %y = vector.maskedload %mask[%i, %i], %which, %x : memref<8x64xi1>, vector<8xi1>, vector<8xi1> into vector<8xi1>
  // CHECK: %[[PADDING:.*]] = arith.extui %{{.*}} : i1 to i8
  // CHECK: vector.transfer_read {{.*}}, %[[PADDING]], %{{.*}} : memref<8x64xi8>, vector<8xi8>
  %z = vector.transfer_read %mask[%i, %i], %padding, %y : memref<8x64xi1>, vector<8xi1>
  // CHECK: vector.transfer_write %{{.*}}, %{{.*}}[%{{.*}}] : vector<8xi8>, memref<8x64xi8>
  vector.transfer_write %z, %mask[%i, %i] : vector<8xi1>, memref<8x64xi1>
  return
}

// CHECK-LABEL: func.func @unsigned
func.func @unsigned(%from: memref<8xui1>, %to: memref<8xui1>, %i: index) {
  // CHECK: memref.load {{.*}} : memref<8xi8>
  // CHECK: builtin.unrealized_conversion_cast %{{.*}} : i1 to ui1
  // CHECK: builtin.unrealized_conversion_cast %{{.*}} : ui1 to i1
  // CHECK: memref.store {{.*}} : memref<8xi8>
  %x = memref.load %from[%i] : memref<8xui1>
  memref.store %x, %to[%i] : memref<8xui1>
  return
}

gpu.module @kernels {
  // CHECK: gpu.func @kernel(%{{.*}}: memref<8xi8, #tile.layout<(8) : (1), offset = 4>>)
  // CHECK-SAME: workgroup(%{{.*}}: memref<8xi8, #gpu.address_space<workgroup>>)
  gpu.func @kernel(%mask: memref<8xi1, #tile.layout<(8) : (1), offset = 4>>)
      workgroup(%buffer: memref<8xi1, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// CHECK-LABEL: func.func @host
func.func @host(%from: memref<8xi1>, %x: i1) {
  %c1 = arith.constant 1 : index
  // CHECK: gpu.alloc () : memref<8xi8>
  %to = gpu.alloc () : memref<8xi1>
  // CHECK: gpu.memcpy %{{.*}}, %{{.*}} : memref<8xi8>, memref<8xi8>
  gpu.memcpy %to, %from : memref<8xi1>, memref<8xi1>
  // CHECK: gpu.memset %{{.*}}, %{{.*}} : memref<8xi8>, i8
  gpu.memset %to, %x : memref<8xi1>, i1
  return
}

// Addresses of packed elements may be computed; vectors that are elements themselves are whole bytes.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    memref<64xi8>, %{{.*}}: memref<4xvector<8xi1>>
func.func @packed(%bytes: memref<64xi8>, %vectors: memref<4xvector<8xi1>>, %i: index) -> vector<8xi1> {
  %c0 = arith.constant 0 : index
  %wide = memref.view %bytes[%c0][] : memref<64xi8> to memref<128xi4>
  // CHECK: memref.subview {{.*}} : memref<128xi4> to memref<64xi4, strided<[1], offset: 64>>
  %half = memref.subview %wide[64] [64] [1] : memref<128xi4> to memref<64xi4, strided<[1], offset: 64>>
  // CHECK: memref.load {{.*}} : memref<4xvector<8xi1>>
  %x = memref.load %vectors[%i] : memref<4xvector<8xi1>>
  return %x : vector<8xi1>
}
