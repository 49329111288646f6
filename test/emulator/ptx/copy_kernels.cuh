// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies between the CTAs of a cluster as they are written by hand in CUDA C++:
// each method in one kernel that sends fresh data in every round, and counts
// the elements that arrive wrong.
#pragma once
#include <cstdint>

#define DI __device__ __forceinline__

DI uint32_t s32(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
DI uint32_t mapa(uint32_t a, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(r)
               : "r"(a), "r"(rank));
  return r;
}
DI uint32_t ctarank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
DI uint32_t csize() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
  return r;
}
DI long long clk() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}
DI void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster."
               "wait.acquire.aligned;" ::
                   : "memory");
}
DI void bar_init(uint32_t b, uint32_t n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n)
               : "memory");
}
DI void fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
DI void fence_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
DI void arm(uint32_t b, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b),
      "r"(bytes)
      : "memory");
}
DI void arrive_remote(uint32_t b) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b)
      : "memory");
}
// LIGHT: the default qualifiers, as libraries use them. Data that went by plain
// remote stores need the cluster scope.
DI void arrive_light(uint32_t b) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(b)
               : "memory");
}
template <bool LIGHT> DI bool try_wait(uint32_t b, uint32_t parity) {
  uint32_t ok;
  if (LIGHT)
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(ok)
                 : "r"(b), "r"(parity)
                 : "memory");
  else
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
                 "[%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(ok)
                 : "r"(b), "r"(parity)
                 : "memory");
  return ok;
}
DI bool elect() {
  uint32_t p;
  asm volatile("{\n\t.reg .pred P;\n\telect.sync _|P, 0xffffffff;\n\tselp.u32 "
               "%0, 1, 0, P;\n\t}"
               : "=r"(p));
  return p;
}
template <bool LIGHT> DI void wait(uint32_t b, uint32_t parity) {
  if (try_wait<LIGHT>(b, parity))
    return;
  long long t0 = clk();
  while (!try_wait<LIGHT>(b, parity))
    if (clk() - t0 > 4000000000LL)
      __trap();
}
template <bool LIGHT> DI void ack(uint32_t b) {
  if (LIGHT)
    arrive_light(b);
  else
    arrive_remote(b);
}
DI void bulk(uint32_t dst, uint32_t src, uint32_t n, uint32_t bar) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_"
               "tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst),
               "r"(src), "r"(n), "r"(bar)
               : "memory");
}
DI uint4 lds16(uint32_t a) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(a)
               : "memory");
  return v;
}
DI uint32_t lds4(uint32_t a) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
  return v;
}
DI void sts16(uint32_t a, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
DI uint4 ldc16(uint32_t a) {
  uint4 v;
  asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(a)
               : "memory");
  return v;
}
DI uint32_t ldc4(uint32_t a) {
  uint32_t v;
  asm volatile("ld.shared::cluster.u32 %0, [%1];"
               : "=r"(v)
               : "r"(a)
               : "memory");
  return v;
}
DI void stc16(uint32_t a, uint4 v) {
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(a),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
DI void sta16(uint32_t a, uint4 v, uint32_t bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 "
               "[%0], {%1,%2,%3,%4}, [%5];" ::"r"(a),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(bar)
               : "memory");
}
DI void sta8(uint32_t a, uint32_t x, uint32_t y, uint32_t bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 "
               "[%0], {%1,%2}, [%3];" ::"r"(a),
               "r"(x), "r"(y), "r"(bar)
               : "memory");
}
DI void sta4(uint32_t a, uint32_t x, uint32_t bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 "
               "[%0], %1, [%2];" ::"r"(a),
               "r"(x), "r"(bar)
               : "memory");
}
DI void group_sync(int id, int n) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory");
}

enum Method {
  BULK_ONE_THREAD, // threadIdx.x == 0 issues every chunk
  BULK_ELECTED,    // one elected lane of a converged warp
  BULK_32_LANES,   // the lanes of one warp, one chunk each
  BULK_EACH_WARP,  // one lane of each sending warp
  ST_ASYNC_16,
  ST_ASYNC_8,
  ST_ASYNC_4,
  ST_REMOTE, // plain remote stores, one release arrive a warp
  // transposing on the way: eight rows of a column pair make two 16-byte
  // vectors
  T_ST_ASYNC,       // scattered, without bank conflicts
  T_ST_ASYNC_PAIRS, // two lanes fill 32 bytes
  T_ST_REMOTE,
  T_LOCAL_BULK, // transpose in the source CTA, then one bulk copy
  // the receiving CTA does the work
  PULL,         // ld.shared::cluster
  T_PULL,       // transpose while pulling
  T_BULK_LOCAL, // one bulk copy, then transpose in the receiving CTA
};
DI constexpr bool is_tx(int m) {
  return m <= ST_ASYNC_4 || m == T_ST_ASYNC || m == T_ST_ASYNC_PAIRS ||
         m == T_LOCAL_BULK || m == T_BULK_LOCAL;
}
DI constexpr bool is_release(int m) {
  return m == ST_REMOTE || m == T_ST_REMOTE;
}
DI constexpr bool is_transposing(int m) { return m >= T_ST_ASYNC && m != PULL; }

constexpr int TR = 64, TC = 16,
              TASKS = TR / 8 * TC / 2; // rows and columns of a transposed tile

struct Args {
  int tile;     // bytes of payload in a tile
  int chunk;    // contiguous bytes
  int sst, dst; // byte distance of chunks in source and destination
  int sbytes;   // bytes of the source buffer
  int dbytes;   // bytes of the destination buffer
  int iters;
  int shift;      // receiver = rank + shift
  int warps;      // working warps; one more waits and announces
  unsigned *err;  // elements that came wrong
  unsigned *seen; // elements that came at all
};

DI uint32_t val16(uint32_t rank, uint32_t it, uint32_t e) {
  uint32_t h = e * 40503u + (e >> 6) * 30011u + it * 12347u + rank * 7919u + 1u;
  return (h ^ (h >> 13)) & 0xffffu;
}
DI void pack8(const uint32_t (&w)[8], uint4 &c0, uint4 &c1) {
  c0.x = __byte_perm(w[0], w[1], 0x5410);
  c1.x = __byte_perm(w[0], w[1], 0x7632);
  c0.y = __byte_perm(w[2], w[3], 0x5410);
  c1.y = __byte_perm(w[2], w[3], 0x7632);
  c0.z = __byte_perm(w[4], w[5], 0x5410);
  c1.z = __byte_perm(w[4], w[5], 0x7632);
  c0.w = __byte_perm(w[6], w[7], 0x5410);
  c1.w = __byte_perm(w[6], w[7], 0x7632);
}
// task t: column pair cp, block of eight rows rb
DI void task(int t, bool pairs, int &cp, int &rb) {
  if (pairs) {
    cp = (t >> 1) & (TC / 2 - 1);
    rb = 2 * (((t >> 4) + cp) & (TR / 16 - 1)) + (t & 1);
  } else {
    cp = t & (TC / 2 - 1);
    rb = ((t >> 3) + cp) & (TR / 8 - 1);
  }
}

// Dynamic shared memory: [source][destination][staging][full][empty]
template <int M, bool LIGHT> DI void copy_tiles(const Args &a) {
  extern __shared__ __align__(128) unsigned char sm[];
  const uint32_t rank = ctarank(), cs = csize();
  const uint32_t to = (rank + a.shift) % cs,
                 from = (rank + cs - a.shift % cs) % cs;
  const int tid = threadIdx.x, nthr = a.warps * 32, warp = tid >> 5,
            lane = tid & 31;
  const bool worker = warp < a.warps;
  const uint32_t src = s32(sm), dst = src + a.sbytes, stg = dst + a.dbytes;
  const uint32_t full =
                     stg +
                     (M == T_LOCAL_BULK || M == T_BULK_LOCAL ? TR * TC * 2 : 0),
                 empty = full + 8;
  constexpr bool tx = is_tx(M), pull = M >= PULL;

#pragma unroll 1
  for (int e = tid; e < a.sbytes / 4; e += blockDim.x)
    ((uint32_t *)sm)[e] = 0x5a5a5a5au;
#pragma unroll 1
  for (int e = tid; e < a.dbytes / 4; e += blockDim.x)
    ((uint32_t *)(sm + a.sbytes))[e] = 0xdeadbeefu;
  __syncthreads();
  fence_async();
  if (tid == 0) {
    bar_init(full, is_release(M) ? a.warps : 1);
    bar_init(empty, pull ? a.warps : 1);
    fence_init();
    if (tx)
      arm(full, a.tile);
  }
  __syncthreads();
  cluster_sync();

  unsigned bad = 0, all = 0;
  auto fill = [&](int first, int step, int it) {
#pragma unroll 1
    for (int e = first; e < a.tile / 2; e += step) {
      int c = (e * 2) / a.chunk, o = (e * 2) % a.chunk;
      *(uint16_t *)(sm + c * a.sst + o) = (uint16_t)val16(rank, it, e);
    }
    fence_async();
  };
  auto check = [&](int first, int step, int it) {
    const unsigned char *d = sm + a.sbytes;
#pragma unroll 1
    for (int e = first; e < a.tile / 2; e += step) {
      uint32_t got;
      if (is_transposing(M)) {
        int r = e / TC, c = e % TC;
        got = *(const volatile uint16_t *)(d + (c * TR + r) * 2);
      } else {
        int c = (e * 2) / a.chunk, o = (e * 2) % a.chunk;
        got = *(const volatile uint16_t *)(d + c * a.dst + o);
      }
      if (got != val16(from, it, e))
        ++bad;
      ++all;
    }
  };

  if (!pull) {
    // Push: workers send, the last warp receives.
    if (worker) {
      const bool active = M == BULK_ONE_THREAD                      ? tid == 0
                          : M == BULK_32_LANES || M == BULK_ELECTED ? warp == 0
                          : M == BULK_EACH_WARP                     ? lane == 0
                                                                    : true;
      const uint32_t rd = mapa(dst, to), rb_ = mapa(full, to);
#pragma unroll 1
      for (int it = 0; it < a.iters; ++it) {
        if (it > 0)
          wait<LIGHT>(empty, (it - 1) & 1);
        group_sync(1, nthr);
        fill(tid, nthr, it);
        group_sync(1, nthr);
        if (!active)
          continue;
        const int n = a.tile / a.chunk;
        if (M == BULK_ELECTED) {
          if (elect()) {
#pragma unroll 1
            for (int i = 0; i < n; ++i)
              bulk(rd + i * a.dst, src + i * a.sst, a.chunk, rb_);
          }
          __syncwarp();
        }
        if (M == BULK_ONE_THREAD || M == BULK_32_LANES || M == BULK_EACH_WARP) {
          const int i0 = M == BULK_ONE_THREAD ? 0
                         : M == BULK_32_LANES ? lane
                                              : warp;
          const int di = M == BULK_ONE_THREAD ? 1
                         : M == BULK_32_LANES ? 32
                                              : a.warps;
#pragma unroll 1
          for (int i = i0; i < n; i += di)
            bulk(rd + i * a.dst, src + i * a.sst, a.chunk, rb_);
        }
        if (M == ST_ASYNC_16 || M == ST_REMOTE) {
          constexpr int U = 2; // loads in flight before the first store
          const int vectors = a.tile / 16, lg = 31 - __clz(a.chunk / 16),
                    mask = a.chunk / 16 - 1;
#pragma unroll 1
          for (int v = tid; v < vectors; v += U * nthr) {
            uint4 x[U];
#pragma unroll
            for (int j = 0; j < U; ++j) {
              const int q = v + j * nthr, c = q >> lg, o = (q & mask) * 16;
              if (q < vectors)
                x[j] = lds16(src + c * a.sst + o);
            }
#pragma unroll
            for (int j = 0; j < U; ++j) {
              const int q = v + j * nthr, c = q >> lg, o = (q & mask) * 16;
              if (q < vectors) {
                if (M == ST_ASYNC_16)
                  sta16(rd + c * a.dst + o, x[j], rb_);
                else
                  stc16(rd + c * a.dst + o, x[j]);
              }
            }
          }
        }
        if (M == ST_ASYNC_8 || M == ST_ASYNC_4) {
          constexpr int W = M == ST_ASYNC_8 ? 8 : 4;
          const int lg = 31 - __clz(a.chunk / W);
#pragma unroll 1
          for (int v = tid; v < a.tile / W; v += nthr) {
            int c = v >> lg, o = (v & ((1 << lg) - 1)) * W;
            uint32_t s = src + c * a.sst + o, d = rd + c * a.dst + o;
            if (W == 8)
              sta8(d, lds4(s), lds4(s + 4), rb_);
            else
              sta4(d, lds4(s), rb_);
          }
        }
        if (is_transposing(M)) {
#pragma unroll 1
          for (int t = tid; t < TASKS; t += nthr) {
            int cp, rb;
            task(t, M == T_ST_ASYNC_PAIRS, cp, rb);
            uint32_t w[8];
#pragma unroll
            for (int i = 0; i < 8; ++i)
              w[i] = lds4(src + (rb * 8 + i) * (TC * 2) + cp * 4);
            uint4 c0, c1;
            pack8(w, c0, c1);
            const uint32_t o0 = (2 * cp) * (TR * 2) + rb * 16, o1 = o0 + TR * 2;
            if (M == T_LOCAL_BULK) {
              sts16(stg + o0, c0);
              sts16(stg + o1, c1);
            } else if (M == T_ST_REMOTE) {
              stc16(rd + o0, c0);
              stc16(rd + o1, c1);
            } else {
              sta16(rd + o0, c0, rb_);
              sta16(rd + o1, c1, rb_);
            }
          }
          if (M == T_LOCAL_BULK) {
            fence_async();
            group_sync(1, nthr);
            if (tid == 0)
              bulk(rd, stg, TR * TC * 2, rb_);
          }
        }
        if (is_release(M)) {
          __syncwarp();
          if (lane == 0)
            arrive_remote(rb_); // cumulative over the warp
        }
      }
      if (active)
        wait<LIGHT>(empty, (a.iters - 1) & 1);
    } else {
      const uint32_t rempty = mapa(empty, from);
#pragma unroll 1
      for (int it = 0; it < a.iters; ++it) {
        wait<LIGHT && tx>(full, it & 1);
        check(lane, 32, it);
        __syncwarp();
        if (lane == 0) {
          if (tx && it + 1 < a.iters)
            arm(full, a.tile);
          ack<LIGHT>(rempty);
        }
      }
    }
  } else if (!worker) {
    // Pull: the last warp announces, workers receive.
    const uint32_t rfull = mapa(full, to), rstg = mapa(stg, to);
#pragma unroll 1
    for (int it = 0; it < a.iters; ++it) {
      if (it > 0)
        wait<LIGHT>(empty, (it - 1) & 1);
      __syncwarp();
      fill(lane, 32, it);
      __syncwarp();
      if (lane != 0)
        continue;
      if (M == T_BULK_LOCAL)
        bulk(rstg, src, TR * TC * 2, rfull);
      else
        arrive_remote(rfull);
    }
    if (lane == 0)
      wait<LIGHT>(empty, (a.iters - 1) & 1);
  } else {
    const uint32_t rsrc = mapa(src, from), rempty = mapa(empty, from);
#pragma unroll 1
    for (int it = 0; it < a.iters; ++it) {
      wait<LIGHT && tx>(full, it & 1);
      if (M == T_BULK_LOCAL) { // every worker has seen the phase before it is
                               // armed again
        group_sync(1, nthr);
        if (tid == 0 && it + 1 < a.iters)
          arm(full, a.tile);
      }
      if (M == PULL) {
        const int lg = 31 - __clz(a.chunk / 16), mask = a.chunk / 16 - 1;
#pragma unroll 1
        for (int q = tid; q < a.tile / 16; q += nthr) {
          const int c = q >> lg, o = (q & mask) * 16;
          sts16(dst + c * a.dst + o, ldc16(rsrc + c * a.sst + o));
        }
      } else {
#pragma unroll 1
        for (int t = tid; t < TASKS; t += nthr) {
          int cp, rb;
          task(t, false, cp, rb);
          uint32_t w[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            const uint32_t o = (rb * 8 + i) * (TC * 2) + cp * 4;
            w[i] = M == T_BULK_LOCAL ? lds4(stg + o) : ldc4(rsrc + o);
          }
          uint4 c0, c1;
          pack8(w, c0, c1);
          const uint32_t o0 = (2 * cp) * (TR * 2) + rb * 16;
          sts16(dst + o0, c0);
          sts16(dst + o0 + TR * 2, c1);
        }
      }
      group_sync(1, nthr);
      check(tid, nthr, it);
      group_sync(1, nthr);
      __syncwarp();
      if (lane == 0)
        ack<LIGHT>(rempty);
    }
  }

  __shared__ unsigned total;
  __syncwarp();
  if (tid == 0)
    total = 0;
  __syncthreads();
  atomicAdd(&total, all);
  if (bad)
    atomicAdd(a.err, bad);
  __syncthreads();
  if (tid == 0)
    atomicAdd(a.seen, total);
  __syncwarp();
  cluster_sync();
}

#define KERNEL(name, method, light)                                            \
  extern "C" __global__ void __launch_bounds__(544) name(Args a) {             \
    copy_tiles<method, light>(a);                                              \
  }
