// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls every function of through.mlir and types.mlir, on the fake driver.
#include "through.h"
#include "types.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

#define CHECK(condition)                                                       \
  if (!(condition))                                                            \
    return std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), 1;

int main() {
  TileRuntimeFailure failure;
  double sum = 0;
  CHECK(tile_scalars(true, -3, 1ll << 40, 7, 0.5f, 0.25, &sum, nullptr,
                     nullptr) == 0);
  CHECK(sum == 1 - 3 + double(1ll << 40) + 7 + 0.75);
  bool odd = false;
  for (int32_t x : {3, 2, 255, -2}) {
    CHECK(tile_is_odd(x, &odd, nullptr, &failure) == 0 && odd == (x & 1));
  }

  int32_t values[20];
  for (int i = 0; i < 20; ++i)
    values[i] = i;
  tile_memref_i32_2d strided = {values, values, 3, {2, 3}, {8, 2}};
  int32_t element = 0;
  CHECK(tile_element(strided, 1, 2, &element, nullptr, &failure) == 0 &&
        element == 3 + 8 + 4);
  strided.strides[1] = 1;
  CHECK(tile_element(strided, 1, 2, &element, nullptr, nullptr) ==
        TILE_RUNTIME_LAUNCH_FAILED);
  CHECK(tile_element(strided, 1, 2, &element, nullptr, &failure) ==
        TILE_RUNTIME_LAUNCH_FAILED);
  CHECK(!std::strcmp(failure.message,
                     "argument 0 of 'element' must be "
                     "memref<2x3xi32, strided<[8, 2], offset: ?>>"));
  CHECK(failure.kind == TILE_RUNTIME_LAUNCH_FAILED && !*failure.kernel);

  uint16_t from = 0x3c00, to = 0;
  CHECK(tile_point(tile_memref_f16_0d_of(&from), tile_memref_f16_0d_of(&to),
                   nullptr, nullptr) == 0);
  CHECK(to == from);

  tile_memref_index_1d made;
  CHECK(tile_iota(5, &made, nullptr, &failure) == 0 && made.sizes[0] == 5);
  for (int64_t i = 0; i < 5; ++i)
    CHECK(made.aligned[made.offset + i * made.strides[0]] == i);
  std::free(made.allocated);

  uint8_t bytes[6] = {};
  tile_memref_ui8_3d cube = {bytes, bytes, 0, {1, 2, 3}, {6, 3, 1}};
  int64_t rank = 0;
  CHECK(tile_rank({3, &cube}, cube, &rank, nullptr, nullptr) == 0 && rank == 3);

  float a[24], b[24] = {};
  for (int i = 0; i < 24; ++i)
    a[i] = 0.5f * i;
  CHECK(tile_main(tile_memref_f32_2d_of(a, 4, 6),
                  tile_memref_f32_2d_of(b, 4, 6), nullptr, &failure) == 0);
  CHECK(!std::memcmp(a, b, sizeof(a)));
  CHECK(tile_main(tile_memref_f32_2d_of(a, 6, 4),
                  tile_memref_f32_2d_of(b, 6, 4), nullptr,
                  &failure) == TILE_RUNTIME_LAUNCH_FAILED);

  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto fail = reinterpret_cast<void (*)(const char *, int, int, int)>(
      dlsym(driver, "fake_fail"));
  fail("cuMemcpyAsync", 1, 2, 0);
  CHECK(tile_main(tile_memref_f32_2d_of(a, 4, 6),
                  tile_memref_f32_2d_of(b, 4, 6), nullptr,
                  &failure) == TILE_RUNTIME_LAUNCH_FAILED);
  CHECK(!std::strcmp(failure.call, "cuMemcpyAsync") && failure.code == 2);
  CHECK(std::strstr(failure.message, "cuMemcpyAsync failed with "));
  CHECK(tile_main(tile_memref_f32_2d_of(a, 4, 6),
                  tile_memref_f32_2d_of(b, 4, 6), nullptr,
                  &failure) == 0); // a failure is of one call

  tile_memref_f32_2d raw_a = tile_memref_f32_2d_of(a, 4, 6),
                     raw_b = tile_memref_f32_2d_of(b, 4, 6);
  fail("cuMemAllocAsync", 1, 2, 1);
  fail("cuMemAlloc", 1, 2, 1);
  _mlir_ciface_main(&raw_a,
                    &raw_b); // the compiled function itself, outside brackets
  CHECK(tile_runtime_last_error(&failure) == TILE_RUNTIME_LAUNCH_FAILED);
  std::puts("right");
  return 0;
}
