// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What transform_script.mlir runs. It stands in a file of its own, because a script cannot apply passes
// to the module that it is in.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %analyzed = transform.apply_registered_pass "tile-analyze-layout"
        with options = {"bounds" = "error"} to %root : (!transform.any_op) -> !transform.any_op
    %legalized = transform.apply_registered_pass "tile-legalize-to-nvvm" to %analyzed
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
