// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy_kernels.cuh"
KERNEL(st_async_16, ST_ASYNC_16, true)
KERNEL(st_async_8, ST_ASYNC_8, true)
KERNEL(st_async_4, ST_ASYNC_4, true)
KERNEL(st_remote, ST_REMOTE, true)
KERNEL(st_remote_cluster_scope, ST_REMOTE, false)
KERNEL(pull, PULL, true)
KERNEL(pull_cluster_scope, PULL, false)
