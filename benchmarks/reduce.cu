// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hand-written reductions beside which benchmarks/reduce.py measures
// tile.all_reduce: the sum of one f32 of each thread over all threads of a
// cluster, which every thread gets, over and over in a loop.
//
//   nvcc -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a -o reduce reduce.cu
//   ./reduce CLUSTER
//
// prints one line `method clk` for each method, clk for one reduction:
//   barrier  the block sums, stores to each peer, and meets at a cluster barrier
//   warps    each warp sends its sum to each CTA by st.async
//   block    the block sums, and one warp sends it to each CTA by st.async
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                       \
              cudaGetErrorString(error));                                      \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

#define DEVICE __device__ __forceinline__

constexpr int kRounds = 100, kThreads = 256, kWarps = kThreads / 32;

DEVICE uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
DEVICE uint32_t mapa(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(r)
               : "r"(address), "r"(rank));
  return r;
}
DEVICE float warpSum(float v) {
  for (int d = 16; d; d /= 2)
    v += __shfl_xor_sync(~0u, v, d);
  return v;
}
DEVICE void initBarriers(uint64_t *barriers) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(
          shared(&barriers[s])));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
}
DEVICE void arm(uint64_t *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                   shared(barrier)),
               "r"(bytes)
               : "memory");
}
DEVICE void wait(uint64_t *barrier, uint32_t parity) {
  asm volatile("{\n\t.reg .pred p;\n"
               "again:\n\t"
               "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t"
               "@p bra.uni done;\n\t"
               "bra.uni again;\n"
               "done:\n\t}" ::"r"(shared(barrier)),
               "r"(parity)
               : "memory");
}
DEVICE void send(float *slot, float value, uint64_t *barrier, int rank) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 "
               "[%0], %1, [%2];" ::"r"(mapa(shared(slot), rank)),
               "r"(__float_as_uint(value)), "r"(mapa(shared(barrier), rank))
               : "memory");
}

/// Runs `reduce(round, value)` in a loop, and times it. In each round the values
/// differ again from thread to thread: of equal ones, ptxas computes the sum of
/// a warp without a shuffle.
template <typename Reduce>
DEVICE void loop(float *out, long long *clk, int cluster, Reduce reduce) {
  float own = threadIdx.x % 2 ? 1.0f : -1.0f;
  float v = threadIdx.x + cg::this_cluster().block_rank();
  cg::this_cluster().sync();
  long long start = clock64();
  for (int i = 0; i < kRounds; ++i)
    v = reduce(i, v) * (1.0f / (kThreads * cluster)) + own;
  long long end = clock64();
  out[blockIdx.x * blockDim.x + threadIdx.x] = v - own;
  if (threadIdx.x == 0)
    clk[blockIdx.x] = end - start;
  cg::this_cluster().sync();
}

template <int C> __global__ void byBarrier(float *out, long long *clk) {
  __shared__ float parts[2][kWarps], slots[2][C];
  cg::cluster_group cluster = cg::this_cluster();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int rank = cluster.block_rank();
  loop(out, clk, C, [&](int i, float v) {
    float x = warpSum(v);
    if (lane == 0)
      parts[i & 1][warp] = x;
    __syncthreads();
    if (warp == 0) {
      float sum = 0;
      for (int j = 0; j < kWarps; ++j)
        sum += parts[i & 1][j];
      if (lane < C)
        *cluster.map_shared_rank(&slots[i & 1][rank], lane) = sum;
    }
    cluster.sync();
    float sum = 0;
    for (int j = 0; j < C; ++j)
      sum += slots[i & 1][j];
    return sum;
  });
}

template <int C> __global__ void byWarps(float *out, long long *clk) {
  __shared__ alignas(16) float slots[2][kWarps * C];
  __shared__ alignas(8) uint64_t barriers[2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int rank = cg::this_cluster().block_rank();
  initBarriers(barriers);
  loop(out, clk, C, [&](int i, float v) {
    int s = i & 1;
    if (threadIdx.x == 0)
      arm(&barriers[s], kWarps * C * 4);
    float x = warpSum(v);
    if (lane < C)
      send(&slots[s][rank * kWarps + warp], x, &barriers[s], lane);
    wait(&barriers[s], i >> 1 & 1);
    float sum = 0;
    for (int j = lane; j < kWarps * C; j += 32)
      sum += slots[s][j];
    return warpSum(sum);
  });
}

template <int C> __global__ void byBlock(float *out, long long *clk) {
  __shared__ alignas(16) float slots[2][C], parts[2][kWarps];
  __shared__ alignas(8) uint64_t barriers[2];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int rank = cg::this_cluster().block_rank();
  initBarriers(barriers);
  loop(out, clk, C, [&](int i, float v) {
    int s = i & 1;
    if (threadIdx.x == 0)
      arm(&barriers[s], C * 4);
    float x = warpSum(v);
    if (lane == 0)
      parts[s][warp] = x;
    __syncthreads();
    x = 0;
    for (int j = 0; j < kWarps; ++j)
      x += parts[s][j];
    if (warp == 0 && lane < C)
      send(&slots[s][rank], x, &barriers[s], lane);
    wait(&barriers[s], i >> 1 & 1);
    float sum = 0;
    for (int j = 0; j < C; ++j)
      sum += slots[s][j];
    return sum;
  });
}

template <typename Kernel> void measure(const char *name, Kernel kernel, int c) {
  float *out;
  long long *clk;
  CHECK(cudaMalloc(&out, sizeof(float) * kThreads * c));
  CHECK(cudaMalloc(&clk, sizeof(long long) * c));
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchConfig_t config = {};
  config.gridDim = c;
  config.blockDim = kThreads;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = c;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  long long best = 1ll << 60;
  for (int run = 0; run < 20; ++run) {
    CHECK(cudaLaunchKernelEx(&config, kernel, out, clk));
    CHECK(cudaDeviceSynchronize());
    long long all[16];
    CHECK(cudaMemcpy(all, clk, sizeof(long long) * c, cudaMemcpyDeviceToHost));
    long long slowest = 0;
    for (int j = 0; j < c; ++j)
      slowest = slowest < all[j] ? all[j] : slowest;
    best = slowest < best ? slowest : best;
  }
  float value, mean = (kThreads - 1) / 2.0f + (c - 1) / 2.0f;
  CHECK(cudaMemcpy(&value, out, sizeof(float), cudaMemcpyDeviceToHost));
  if (!(value > mean * 0.999f && value < mean * 1.001f)) {
    fprintf(stderr, "%s: %g is not %g\n", name, value, mean);
    exit(1);
  }
  printf("%s %f\n", name, best / double(kRounds));
}

template <int C> void measureAll() {
  measure("barrier", byBarrier<C>, C);
  measure("warps", byWarps<C>, C);
  measure("block", byBlock<C>, C);
}

int main(int argc, char **argv) {
  switch (argc == 2 ? atoi(argv[1]) : 0) {
  case 2:
    measureAll<2>();
    return 0;
  case 4:
    measureAll<4>();
    return 0;
  case 8:
    measureAll<8>();
    return 0;
  case 16:
    measureAll<16>();
    return 0;
  }
  fprintf(stderr, "usage: reduce 2|4|8|16\n");
  return 2;
}
