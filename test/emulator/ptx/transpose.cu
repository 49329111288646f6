// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy_kernels.cuh"
KERNEL(transpose_st_async, T_ST_ASYNC, true)
KERNEL(transpose_st_async_pairs, T_ST_ASYNC_PAIRS, true)
KERNEL(transpose_st_remote, T_ST_REMOTE, true)
KERNEL(transpose_local_bulk, T_LOCAL_BULK, true)
KERNEL(transpose_pull, T_PULL, true)
KERNEL(transpose_bulk_local, T_BULK_LOCAL, true)
