// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy_kernels.cuh"
KERNEL(bulk_one_thread, BULK_ONE_THREAD, true)
KERNEL(bulk_elected, BULK_ELECTED, true)
KERNEL(bulk_elected_cluster_scope, BULK_ELECTED, false)
KERNEL(bulk_32_lanes, BULK_32_LANES, true)
KERNEL(bulk_each_warp, BULK_EACH_WARP, true)
