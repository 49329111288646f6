// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/bindings/Watch.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Action.h"
#include "mlir/Pass/Pass.h"

#include "llvm/Support/Signals.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace mlir;

static void write(llvm::MutableArrayRef<char> field, StringRef text) {
  text = text.take_front(field.size() - 1);
  *std::copy(text.begin(), text.end(), field.begin()) = '\0';
}

/// Notes the place of an op in a file, the first that its location names; one
/// without a line, as a module has, is none.
static void notePlace(tile::WatchRecord &record, Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place || place.getLine() == 0)
    return write(record.place, "");
  StringRef file = place.getFilename().strref().take_back(320);
  std::snprintf(record.place, sizeof record.place, "%.*s:%u:%u",
                static_cast<int>(file.size()), file.data(), place.getLine(),
                place.getColumn());
}

void tile::watch(MlirContext context, WatchRecord &record) {
  unwrap(context)->registerActionHandler(
      [&record](function_ref<void()> execute, const tracing::Action &action) {
        WatchRecord outer = record;
        if (auto *pass = dyn_cast<PassExecutionAction>(&action)) {
          StringRef name = pass->getPass().getArgument();
          write(record.pass, name.empty() ? pass->getPass().getName() : name);
        }
        // A pass works on the first, a pattern too.
        if (!action.getContextIRUnits().empty())
          if (auto *op = dyn_cast_if_present<Operation *>(
                  action.getContextIRUnits().front()))
            notePlace(record, op->getLoc());
        execute();
        record = outer;
      });
}

/// Runs before LLVM's own handlers, which print the stack to stderr.
static void closeStderr(void *) {
  int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0)
    ::dup2(null, STDERR_FILENO);
}

void tile::silenceStackDumps() {
  llvm::sys::AddSignalHandler(closeStderr, nullptr);
}
