// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes written in Python run on the outermost module: on nested ones they would wait for each other
// forever.
// RUN: tile-opt %s -pass-pipeline="builtin.module(builtin.module(tile-legalize-to-nvvm))" -verify-diagnostics -o %t

module {
  // expected-error @+1 {{'tile-legalize-to-nvvm' must run on the outermost module, got a nested one}}
  module @nested {
  }
}
