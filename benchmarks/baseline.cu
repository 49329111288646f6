// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hand-written kernels beside which benchmarks/dsmem.py measures the compiled
// ones: CTA 0 of a pair sends one tile after the other to CTA 1, which
// acknowledges each; in a ring each CTA sends to the next one of its cluster,
// and a warp of its own receives. The same protocol, timing and checks, in CUDA
// C++.
//
//   nvcc -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a -o baseline
//   baseline.cu
//   ./baseline ITERATIONS STAGES KIND TILE CHUNK SRC_PITCH DST_PITCH CLUSTER
//   CTAS
//
// prints one line `method clk` for each method that can copy the tile. KIND is
// chunks, columns (of 64 x 64 elements of 4 bytes), to_swizzled or
// from_swizzled (of rows of 128 bytes, Swizzle<3,4,3> of bytes). CLUSTER is the
// size of the clusters that form rings, 0 for one pair.
//
//   ./baseline ctas CLUSTER
//
// prints how many CTAs run at a time in clusters of that size, one on an SM.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

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
DEVICE uint32_t ctaRank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
DEVICE long long clk() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}
DEVICE void clusterSync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
DEVICE void arm(uint32_t barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}
DEVICE void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
DEVICE void wait(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  long long start = clk();
  while (!done) {
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    // A bug must not hang a shared machine.
    if (!done && clk() - start > 4000000000LL)
      __trap();
  }
}
DEVICE bool elect() {
  uint32_t p;
  asm volatile("{\n\t.reg .pred P;\n\telect.sync _|P, 0xffffffff;\n\t"
               "selp.u32 %0, 1, 0, P;\n\t}"
               : "=r"(p));
  return p;
}
DEVICE void bulk(uint32_t dst, uint32_t src, uint32_t n, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_"
               "tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst),
               "r"(src), "r"(n), "r"(barrier)
               : "memory");
}
DEVICE uint4 load16(uint32_t a) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(a)
               : "memory");
  return v;
}
DEVICE uint32_t load4(uint32_t a) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
  return v;
}
DEVICE void store16(uint32_t a, uint4 v, uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 "
               "[%0], {%1,%2,%3,%4}, [%5];" ::"r"(a),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(barrier)
               : "memory");
}
DEVICE void store4(uint32_t a, uint32_t v, uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 "
               "[%0], %1, [%2];" ::"r"(a),
               "r"(v), "r"(barrier)
               : "memory");
}

/// Shared memory that leaves room for one CTA on an SM.
static constexpr int kWholeSm = 200 * 1024;

enum Kind { kChunks, kColumns, kToSwizzled, kFromSwizzled };
enum Method {
  kBulkThread,  // one thread behind a branch issues every chunk
  kBulkElected, // one elected lane of a converged warp, unrolled
  kStore16, // all threads, packets of 16 bytes in the order of the destination
  kStore16Src, // the same in the order of the source
  kStore4,     // columns: 4 bytes each, in the order of the destination
  kGatherDst,  // columns: 16 bytes from four rows, in the order of the
               // destination
  kGatherPair, // the same, two lanes fill 32 bytes
  kGatherSrc,  // the same, in the order of the source
  kGatherDiag, // the same, pairs along a diagonal
};

struct Args {
  int tile, chunk, srcPitch, dstPitch, srcBytes, dstBytes, stages, iterations;
  int cluster, ctas; // a cluster of 0: one pair, of which one sends
  const uint4 *a;
  uint4 *b;
  long long *clocks;
};

DEVICE uint32_t swizzle(uint32_t x) { return x ^ ((x >> 3) & 0x70); }

/// Where the packet of 16 bytes number `q` lies.
template <int K, int M>
DEVICE void place(const Args &args, int log, int q, uint32_t &src,
                  uint32_t &dst) {
  if (K == kChunks) {
    int c = q >> log, o = (q & ((1 << log) - 1)) * 16;
    src = c * args.srcPitch + o;
    dst = c * args.dstPitch + o;
  } else {
    // A swizzle is its own inverse: either side can be the one in order, and
    // both directions are one permutation.
    src = M == kStore16 ? swizzle(q * 16) : q * 16;
    dst = M == kStore16 ? q * 16 : swizzle(q * 16);
  }
}

/// Task `t` of 1024 of the transposition: a column, and a block of four rows.
template <int M> DEVICE void task(int t, int &column, int &rows) {
  if (M == kGatherDst) {
    rows = t & 15, column = t >> 4;
  } else if (M == kGatherPair) {
    rows = (t & 1) | (t >> 7) << 1, column = (t >> 1) & 63;
  } else if (M == kGatherSrc) {
    column = t & 63, rows = t >> 6;
  } else {
    column = (t >> 1) & 63;
    rows = (t & 1) | (((t >> 7) + (column >> 1)) & 7) << 1;
  }
}

template <int K, int M> __global__ void __launch_bounds__(288) pipe(Args args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) uint64_t barriers[8];
  const uint32_t rank = ctaRank(), tid = threadIdx.x, all = blockDim.x;
  const bool isRing = args.cluster != 0;
  const uint32_t threads = isRing ? all - 32 : all; // those that send
  const uint32_t next = isRing ? (rank + 1) % args.cluster : 1;
  const uint32_t previous =
      isRing ? (rank + args.cluster - 1) % args.cluster : 0;
  const bool sends = isRing ? tid < threads : rank == 0;
  const bool receives = isRing ? tid == threads : rank == 1 && tid == 0;
  const uint4 *a = args.a + blockIdx.x * (args.srcBytes / 16);
  uint4 *b = args.b + blockIdx.x * (args.stages * args.dstBytes / 16);
  const uint32_t src = shared(memory), dst = src + args.srcBytes;
  const uint32_t full = shared(barriers), empty = full + 32;
  for (int i = tid; i < args.srcBytes / 16; i += all)
    ((uint4 *)memory)[i] = a[i];
  for (int i = tid; i < args.stages * args.dstBytes / 16; i += all)
    ((uint4 *)(memory + args.srcBytes))[i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (tid == 0) {
    for (int s = 0; s < 4; ++s) {
      asm volatile(
          "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + 8 * s));
      asm volatile(
          "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(empty + 8 * s));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    if (isRing || rank == 1)
      for (int s = 0; s < args.stages; ++s)
        arm(full + 8 * s, args.tile);
  }
  __syncthreads();
  clusterSync();

  long long start = clk();
  if (sends) {
    const uint32_t peer = mapa(dst, next), peerFull = mapa(full, next);
    const int n = args.tile / args.chunk, packets = args.tile / 16;
    const int log = 31 - __clz(args.chunk / 16);
    constexpr bool isBulk = M == kBulkThread || M == kBulkElected;
    if (!isBulk || tid < 32) {
      uint32_t elected = M == kBulkElected ? elect() : tid == 0;
      if (!isBulk || elected) {
        int s = 0;
        uint32_t parity = 1;
        for (int i = 0; i < args.iterations; ++i) {
          wait(empty + 8 * s, parity);
          const uint32_t to = peer + s * args.dstBytes, bar = peerFull + 8 * s;
          if (M == kBulkThread) {
            for (int c = 0; c < n; ++c)
              bulk(to + c * args.dstPitch, src + c * args.srcPitch, args.chunk,
                   bar);
          } else if (M == kBulkElected) {
            uint32_t d = to, from = src;
#pragma unroll 16
            for (int c = 0; c < n; ++c) {
              bulk(d, from, args.chunk, bar);
              d += args.dstPitch;
              from += args.srcPitch;
            }
          } else if (M == kStore16 || M == kStore16Src) {
            for (int q = tid; q < packets; q += 4 * threads) {
              uint4 v[4];
              uint32_t from[4], at[4];
#pragma unroll
              for (int j = 0; j < 4; ++j)
                if (q + j * threads < packets) {
                  place<K, M>(args, log, q + j * threads, from[j], at[j]);
                  v[j] = load16(src + from[j]);
                }
#pragma unroll
              for (int j = 0; j < 4; ++j)
                if (q + j * threads < packets)
                  store16(to + at[j], v[j], bar);
            }
          } else if (M == kStore4) {
#pragma unroll 8
            for (int q = tid; q < 4096; q += threads)
              store4(to + q * 4, load4(src + (q & 63) * 256 + (q >> 6) * 4),
                     bar);
          } else {
#pragma unroll 4
            for (int t = tid; t < 1024; t += threads) {
              int column, rows;
              task<M>(t, column, rows);
              uint32_t from = src + rows * 1024 + column * 4;
              uint4 v = {load4(from), load4(from + 256), load4(from + 512),
                         load4(from + 768)};
              store16(to + column * 256 + rows * 16, v, bar);
            }
          }
          if (++s == args.stages)
            s = 0, parity ^= 1;
        }
        for (int i = 0; i < args.stages; ++i) {
          wait(empty + 8 * s, parity);
          if (++s == args.stages)
            s = 0, parity ^= 1;
        }
      }
    }
  } else if (receives) {
    const uint32_t peerEmpty = mapa(empty, previous);
    int s = 0;
    uint32_t parity = 0;
    for (int i = 0; i < args.iterations; ++i) {
      wait(full + 8 * s, parity);
      if (i + args.stages < args.iterations)
        arm(full + 8 * s, args.tile);
      arrive(peerEmpty + 8 * s);
      if (++s == args.stages)
        s = 0, parity ^= 1;
    }
  }
  __syncwarp();
  long long end = clk();
  if (tid == 0)
    args.clocks[blockIdx.x] = end - start;
  clusterSync();
  if (isRing || rank == 1)
    for (int i = tid; i < args.stages * args.dstBytes / 16; i += all)
      b[i] = ((uint4 *)(memory + args.srcBytes))[i];
}

template <int K, int M>
static void measure(const char *name, Args args, int threads) {
  const int cluster = args.cluster ? args.cluster : 2;
  std::vector<uint8_t> a(args.ctas * args.srcBytes);
  std::vector<uint8_t> b(args.ctas * args.stages * args.dstBytes);
  for (uint8_t &byte : a)
    byte = rand();
  std::fill(b.begin(), b.end(), 0xdb);
  std::vector<uint8_t> expected = b;
  auto swz = [](int x) { return x ^ ((x >> 3) & 0x70); };
  for (int n = 0; n < args.ctas * args.stages; ++n)
    for (int i = 0; i < args.tile; ++i) {
      int cta = n / args.stages, rank = cta % cluster;
      if (!args.cluster && rank != 1)
        continue;
      int sender = cta - rank + (rank + cluster - 1) % cluster;
      int from = i / args.chunk * args.srcPitch + i % args.chunk;
      int to = i / args.chunk * args.dstPitch + i % args.chunk;
      if (K == kColumns)
        from = i, to = i / 4 % 64 * 256 + i / 256 * 4 + i % 4;
      if (K == kToSwizzled)
        from = i, to = swz(i);
      if (K == kFromSwizzled)
        from = swz(i), to = i;
      expected[n * args.dstBytes + to] = a[sender * args.srcBytes + from];
    }
  uint4 *deviceA, *deviceB;
  CHECK(cudaMalloc(&deviceA, a.size()));
  CHECK(cudaMalloc(&deviceB, b.size()));
  CHECK(cudaMalloc(&args.clocks, args.ctas * sizeof(long long)));
  args.a = deviceA, args.b = deviceB;
  CHECK(cudaMemcpy(deviceA, a.data(), a.size(), cudaMemcpyHostToDevice));
  auto kernel = pipe<K, M>;
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kWholeSm));
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(args.ctas);
  config.blockDim = dim3(args.cluster ? threads + 32 : threads);
  config.dynamicSmemBytes =
      args.cluster ? kWholeSm : args.srcBytes + args.stages * args.dstBytes;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(cluster), 1, 1};
  config.attrs = &attribute, config.numAttrs = 1;
  std::vector<long long> times;
  for (int run = 0; run < 6; ++run) {
    CHECK(cudaMemset(deviceB, 0xdb, b.size()));
    CHECK(cudaLaunchKernelEx(&config, kernel, args));
    CHECK(cudaDeviceSynchronize());
    std::vector<long long> clocks(args.ctas);
    CHECK(cudaMemcpy(clocks.data(), args.clocks, 8 * args.ctas,
                     cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(b.data(), deviceB, b.size(), cudaMemcpyDeviceToHost));
    if (b != expected) {
      fprintf(stderr, "%s: wrong bytes\n", name);
      exit(1);
    }
    if (run) // the first one warms up
      times.push_back(*std::max_element(clocks.begin(), clocks.end()));
  }
  std::sort(times.begin(), times.end());
  printf("%s %.1f\n", name, double(times[times.size() / 2]) / args.iterations);
  CHECK(cudaFree(deviceA));
  CHECK(cudaFree(deviceB));
  CHECK(cudaFree(args.clocks));
}

static int activeCtas(int cluster) {
  auto kernel = pipe<kChunks, kBulkElected>;
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kWholeSm));
  CHECK(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(cluster), config.blockDim = dim3(64);
  config.dynamicSmemBytes = kWholeSm;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(cluster), 1, 1};
  config.attrs = &attribute, config.numAttrs = 1;
  int clusters = 0;
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
  return clusters * cluster;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "ctas")) {
    printf("%d\n", activeCtas(atoi(argv[2])));
    return 0;
  }
  if (argc != 10) {
    fprintf(stderr, "usage: baseline ITERATIONS STAGES KIND TILE CHUNK "
                    "SRC_PITCH DST_PITCH CLUSTER CTAS\n");
    return 2;
  }
  Args args = {};
  args.iterations = atoi(argv[1]), args.stages = atoi(argv[2]);
  args.tile = atoi(argv[4]), args.chunk = atoi(argv[5]);
  args.srcPitch = atoi(argv[6]), args.dstPitch = atoi(argv[7]);
  args.cluster = atoi(argv[8]), args.ctas = atoi(argv[9]);
  args.srcBytes = args.tile / args.chunk * args.srcPitch;
  args.dstBytes = args.tile / args.chunk * args.dstPitch;
  if (!strcmp(argv[3], "chunks")) {
    measure<kChunks, kBulkThread>("bulk_thread", args, 32);
    measure<kChunks, kBulkElected>("bulk_elected", args, 32);
    measure<kChunks, kStore16>("st_async_warp", args, 32);
    measure<kChunks, kStore16>("st_async_cta", args, 256);
  } else if (!strcmp(argv[3], "columns")) {
    measure<kColumns, kStore4>("st_async_4", args, 256);
    measure<kColumns, kGatherDst>("gather_dst", args, 256);
    measure<kColumns, kGatherPair>("gather_pair", args, 256);
    measure<kColumns, kGatherSrc>("gather_src", args, 256);
    measure<kColumns, kGatherDiag>("gather_diagonal", args, 256);
  } else if (!strcmp(argv[3], "to_swizzled")) {
    measure<kToSwizzled, kStore16>("by_destination", args, 256);
    measure<kToSwizzled, kStore16Src>("by_source", args, 256);
  } else if (!strcmp(argv[3], "from_swizzled")) {
    measure<kFromSwizzled, kStore16>("by_destination", args, 256);
    measure<kFromSwizzled, kStore16Src>("by_source", args, 256);
  } else {
    fprintf(stderr, "unknown kind %s\n", argv[3]);
    return 2;
  }
}
