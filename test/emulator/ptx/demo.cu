// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The demonstration by hand: CTA 0 loads a tile of 16 KiB and copies it to CTA
// 1, which stores it.
#include "copy_kernels.cuh"

template <bool LEAN, int UNROLL = 8>
DI void demo(const uint4 *__restrict__ A, uint4 *__restrict__ B) {
  extern __shared__ __align__(128) unsigned char sm[];
  constexpr uint32_t N = 16384;
  const uint32_t src = s32(sm), dst = src + N, bar = dst + N, rank = ctarank();
  if (threadIdx.x == 0) {
    bar_init(bar, 1);
    fence_init();
    if (rank == 1)
      arm(bar, N);
  }
  cluster_sync();
  const int step = LEAN ? 1 : 128; // LEAN is launched with one thread a CTA
  if (rank == 0) {
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < (int)(N / 16); i += step)
      sts16(src + i * 16, A[i]);
    fence_async();
    if (!LEAN)
      __syncthreads();
    if (threadIdx.x == 0)
      bulk(mapa(dst, 1), src, N, mapa(bar, 1));
  } else {
    wait<true>(bar, 0); // every thread that reads has waited itself
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < (int)(N / 16); i += step)
      B[i] = lds16(dst + i * 16);
  }
  cluster_sync();
}

extern "C" __global__ void __launch_bounds__(128)
    demo_lean(const uint4 *A, uint4 *B) {
  demo<true>(A, B);
}
extern "C" __global__ void __launch_bounds__(128)
    demo_128_threads(const uint4 *A, uint4 *B) {
  demo<false>(A, B);
}
extern "C" __global__ void __launch_bounds__(128)
    demo_rolled(const uint4 *A, uint4 *B) {
  demo<false, 1>(A, B);
}
