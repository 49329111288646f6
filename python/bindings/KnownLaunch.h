// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_BINDINGS_KNOWN_LAUNCH_H
#define TILE_BINDINGS_KNOWN_LAUNCH_H

#include <nanobind/nanobind.h>

namespace tile {

/// Defines the Python classes by which a kernel is launched with arguments
/// whose layouts were checked before.
void defineKnownLaunch(nanobind::module_ &m);

} // namespace tile

#endif // TILE_BINDINGS_KNOWN_LAUNCH_H
