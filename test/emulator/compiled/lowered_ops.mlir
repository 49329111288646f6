// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
gpu.module @k {
  gpu.func @sync(%a: memref<128xf32>, %i: memref<128xi32>) workgroup(%s: memref<4x128xf32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %ln = gpu.lane_id
    %cid = gpu.cluster_block_id x
    %v = vector.load %a[%t] : memref<128xf32>, vector<1xf32>
    %e = vector.extract %v[0] : f32 from vector<1xf32>
    scf.for %k = %c0 to %c4 step %c1 {
      %kk = arith.addi %k, %t : index
      %m = arith.remui %kk, %c128 : index
      memref.store %e, %s[%k, %m] : memref<4x128xf32, 3>
    }
    gpu.barrier
    %p = memref.alloca() : memref<8xf32, 5>
    scf.for %k = %c0 to %c4 step %c1 {
      %x = memref.load %s[%k, %t] : memref<4x128xf32, 3>
      memref.store %x, %p[%k] : memref<8xf32, 5>
    }
    %lane = arith.index_cast %ln : index to i32
    %c3 = arith.constant 3 : i32
    %dy = arith.andi %lane, %c3 : i32
    %di = arith.index_cast %dy : i32 to index
    %y = memref.load %p[%di] : memref<8xf32, 5>
    memref.store %y, %a[%t] : memref<128xf32>
    %pr = nvvm.elect.sync -> i1
    scf.if %pr {
      %one = arith.constant 1 : i32
      %r = memref.atomic_rmw addi %one, %i[%c0] : (i32, memref<128xi32>) -> i32
      memref.store %r, %i[%t] : memref<128xi32>
    }
    %mask = arith.constant -1 : i32
    %bal = nvvm.vote.sync ballot %mask, %pr -> i32
    nvvm.bar.warp.sync %mask : i32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    gpu.printf "hello %d %f\n", %bal, %y : i32, f32
    %ok = arith.cmpi ne, %bal, %c3 : i32
    cf.assert %ok, "ballot"
    gpu.return
  }
}
