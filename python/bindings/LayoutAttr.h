// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_BINDINGS_LAYOUT_ATTR_H
#define TILE_BINDINGS_LAYOUT_ATTR_H

#include <nanobind/nanobind.h>

namespace tile {

/// Defines the Python class of `#tile.layout`, and `element_bits`.
void defineLayout(nanobind::module_ &m);

} // namespace tile

#endif // TILE_BINDINGS_LAYOUT_ATTR_H
