// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// nvcc -std=c++17 -arch=sm_90 -ptx -O3 -o mixture.ptx, and with -Xcicc -O0 -o
// mixture_o0.ptx
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
struct S {
  float a[3];
  int b;
  double d;
};
__device__ __noinline__ float poly(float x, const float *c, int n) {
  float r = 0;
  for (int i = 0; i < n; ++i)
    r = r * x + c[i];
  return r;
}
__constant__ float coef[4] = {1.f, 2.f, 3.f, 4.f};
__device__ int counter = 5;
extern "C" __global__ void mixture(S s, float *out, const __half *h,
                                   __nv_bfloat16 *bf, unsigned long long *u,
                                   int n) {
  extern __shared__ float sm[];
  int t = threadIdx.x;
  float c[4];
  for (int i = 0; i < 4; ++i)
    c[(i + t) & 3] = coef[i];
  sm[t] = poly(s.a[t % 3], c, n);
  __syncthreads();
  cg::thread_block_tile<32> w =
      cg::tiled_partition<32>(cg::this_thread_block());
  float v = sm[(t + 1) % blockDim.x];
  for (int o = 16; o; o >>= 1)
    v += w.shfl_down(v, o);
  switch (t & 7) {
  case 0:
    v += 1;
    break;
  case 1:
    v *= 2;
    break;
  case 2:
    v -= 3;
    break;
  case 3:
    v /= 4;
    break;
  case 4:
    v = sqrtf(fabsf(v));
    break;
  case 5:
    v = __expf(v * 1e-4f);
    break;
  case 6:
    v = sinf(v);
    break;
  default:
    v = 0;
  }
  __half x = h[t];
  __half2 y = __halves2half2(x, __hadd(x, x));
  y = __hfma2(y, y, y);
  bf[t] = __hmul(__float2bfloat16(v), __float2bfloat16(1.5f));
  u[t] = __umul64hi(0x123456789abcdefULL * (t + 1), ~0ULL - t) / (t + 3) +
         __popcll(t) + __clz(t) + __ffs(t) + (unsigned)__brev(t) % 7;
  atomicAdd(&counter, 1);
  atomicMax(&u[200], (unsigned long long)t);
  if (__any_sync(~0u, t == 5))
    v += __ballot_sync(~0u, t & 1) & 255;
  v += (float)s.d + s.b + __low2float(y) + __high2float(y) + tanhf(v) +
       powf(2.f, (float)(t % 5)) + rsqrtf(t + 1.f);
  out[t] = v;
}
