// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Layout.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

using namespace llvm;
using namespace tile::layout;

std::optional<Divergence> tile::layout::findDivergence(const Layout &src,
                                                       const Layout &dst,
                                                       int64_t granule) {
  std::optional<int64_t> count = size(dst);
  if (!count || *count > kMostEnumerated)
    return std::nullopt;
  std::vector<Divergence> elements;
  elements.reserve(*count);
  for (int64_t i = 0; i < *count; ++i) {
    SmallVector<int64_t, 4> coordinate = coordinateOf(dst, i);
    elements.push_back({i, place(src, coordinate), place(dst, coordinate)});
  }
  sort(elements,
       [](const Divergence &a, const Divergence &b) { return a.dst < b.dst; });
  int64_t length = 1;
  for (size_t i = 1; i < elements.size(); ++i) {
    bool goesOn = elements[i].src == elements[i - 1].src + 1 &&
                  elements[i].dst == elements[i - 1].dst + 1;
    if (!goesOn && length % granule != 0)
      return elements[i];
    length = goesOn ? length + 1 : 1;
  }
  return std::nullopt;
}
