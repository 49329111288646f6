// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module `_tile_emulator`: registers of warps, decoded programs, and the
// loop that runs them. What the core has no operation for is a step or a
// control in Python, which the loop calls.
#include "Operations.h"

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace nb = nanobind;
using namespace tile_emulator;

namespace {

// What a control in Python returns instead of the block to go to:
// `machine/warp.py` has the same.
enum Result : int {
  NEXT = -1,
  BLOCKED = -2,
  DONE = -3,
  YIELD = -4,
  ARRIVED = -5
};

class Registers {
public:
  explicit Registers(const std::vector<uint64_t> &values,
                     const std::vector<int> &widths)
      : count(values.size()),
        data(new (std::align_val_t(64))
                 uint8_t[values.size() * REGISTER_BYTES]()) {
    for (size_t slot = 0; slot < count; ++slot)
      for (int lane = 0; lane < LANES; ++lane) {
        int bytes = widths[slot] == 1 ? 1 : widths[slot] / 8;
        std::memcpy(data.get() + slot * REGISTER_BYTES + lane * bytes,
                    &values[slot], bytes);
      }
  }
  Registers(const Registers &other)
      : count(other.count),
        data(new (std::align_val_t(64)) uint8_t[other.count * REGISTER_BYTES]) {
    std::memcpy(data.get(), other.data.get(), count * REGISTER_BYTES);
  }

  const size_t count;
  struct Free {
    void operator()(uint8_t *bytes) const {
      ::operator delete[](bytes, std::align_val_t(64));
    }
  };
  std::unique_ptr<uint8_t[], Free> data;
};

// Counts instructions of warps.
struct Counter {
  int64_t steps = 0;
};

enum class Kind { Native, Guard, EndGuard, Python };

struct Item {
  Kind kind;
  Operation operation;
  bool negated = false;
  nb::object step;
};

struct Block {
  std::vector<Item> body;
  int next = 0, instructions = 0;
  nb::object control, at;
  // A branch: to `target` where the predicate holds (always without one); lanes
  // meet again at `meet`.
  bool branches = false, negated = false;
  int predicate = -1, target = 0, meet = 0;
};

class Code {
public:
  std::vector<Block> blocks;
  nb::object maskOf;

  std::tuple<int, int> run(nb::handle warp, nb::handle fragment,
                           Registers &registers, Counter &counter, int quantum,
                           int64_t enough);
};

// One run of a fragment: what it holds of Python's objects, and what they have
// not been told yet.
class Run {
public:
  Run(Code &code, nb::handle warp, nb::handle fragment)
      : code(code), warp(warp), fragment(fragment) {
    pc = nb::cast<int>(fragment.attr("pc"));
    nb::object join = fragment.attr("join");
    meets = join.is_none() ? -1 : nb::cast<int>(join.attr("pc"));
    reload();
  }

  void reload() {
    bits = nb::cast<uint32_t>(fragment.attr("bits"));
    mask = fragment.attr("mask");
  }
  void go(int to) {
    pc = to;
    toldPlace = false;
  }
  void come(nb::handle to) {
    at = to;
    toldAt = false;
  }
  void tell() {
    if (!toldPlace)
      fragment.attr("pc") = pc;
    if (!toldAt) {
      warp.attr("at") = at;
      fragment.attr("at") = at;
    }
    toldPlace = toldAt = true;
  }

  Code &code;
  nb::handle warp, fragment, at;
  nb::object mask;
  uint32_t bits = 0;
  int pc = 0, meets = -1;
  bool toldPlace = true, toldAt = true;
};

// Returns whether a step in Python ran, which may have polled.
bool runBody(const Block &block, Run &run, Lanes &lanes) {
  bool called = false;
  for (size_t i = 0, count = block.body.size(); i < count; ++i) {
    const Item &item = block.body[i];
    switch (item.kind) {
    case Kind::Native:
      item.operation.function(item.operation, lanes);
      break;
    case Kind::Guard: {
      uint32_t holds = lanes.holds(item.operation.sources[0]);
      uint32_t taken = run.bits & (item.negated ? ~holds : holds);
      if (taken)
        lanes.setActive(taken);
      else
        i += item.operation.number;
      break;
    }
    case Kind::EndGuard:
      lanes.setActive(run.bits);
      break;
    case Kind::Python:
      run.tell();
      called = true;
      item.step(run.warp, lanes.active == run.bits
                              ? run.mask
                              : run.code.maskOf(lanes.active));
      break;
    }
  }
  return called;
}

std::tuple<int, int> Code::run(nb::handle warp, nb::handle fragment,
                               Registers &registers, Counter &counter,
                               int quantum, int64_t enough) {
  Run run(*this, warp, fragment);
  Lanes lanes;
  lanes.registers = registers.data.get();
  lanes.setActive(run.bits);
  int result = NEXT;
  while (quantum > 0) {
    if (run.pc == run.meets) {
      result = ARRIVED;
      break;
    }
    const Block &block = blocks[run.pc];
    bool called = runBody(block, run, lanes);
    counter.steps += block.instructions;
    if (block.branches) {
      run.come(block.at);
      uint32_t taken = run.bits;
      if (block.predicate >= 0) {
        uint32_t holds = lanes.holds(block.predicate);
        taken &= block.negated ? ~holds : holds;
      }
      if (taken == run.bits)
        run.go(block.target);
      else if (!taken || block.target == block.next)
        run.go(block.next);
      else {
        run.tell();
        warp.attr("diverge")(fragment, taken, block.target, block.next,
                             block.meet);
        result = DONE;
        break;
      }
    } else if (block.control.is_none()) {
      run.go(block.next);
    } else {
      run.come(block.at);
      run.tell();
      called = true;
      int to = nb::cast<int>(block.control(fragment, run.mask));
      if (to == DONE || to == BLOCKED) {
        result = to;
        break;
      }
      run.go(to >= 0 ? to : block.next);
      if (to == YIELD) {
        result = to;
        break;
      }
      run.reload();
      lanes.setActive(run.bits);
    }
    --quantum;
    if (called && nb::cast<int64_t>(fragment.attr("polls")) > enough)
      break;
  }
  run.tell();
  return {result, quantum};
}

Item makeItem(nb::handle given, const std::string &name, int target,
              const std::vector<int> &sources, int number, bool whole) {
  Item item;
  item.operation.target = target;
  item.operation.number = number;
  item.operation.whole = whole;
  for (size_t i = 0; i < sources.size(); ++i)
    item.operation.sources[i] = sources[i];
  if (!given.is_none()) {
    item.kind = Kind::Python;
    item.step = nb::borrow(given);
  } else if (name == "guard" || name == "guard.not") {
    item.kind = Kind::Guard;
    item.negated = name == "guard.not";
  } else if (name == "end") {
    item.kind = Kind::EndGuard;
  } else {
    item.kind = Kind::Native;
    item.operation.function = findFunction(name);
    if (!item.operation.function)
      throw nb::key_error(name.c_str());
  }
  return item;
}

// Steps may refer to what refers to the code.
int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self))
    return 0;
  Code *code = nb::inst_ptr<Code>(self);
  Py_VISIT(code->maskOf.ptr());
  for (Block &block : code->blocks) {
    Py_VISIT(block.control.ptr());
    Py_VISIT(block.at.ptr());
    for (Item &item : block.body)
      Py_VISIT(item.step.ptr());
  }
  return 0;
}
int clear(PyObject *self) {
  std::vector<Block> blocks;
  nb::inst_ptr<Code>(self)->blocks.swap(blocks);
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {0, nullptr}};

} // namespace

NB_MODULE(_tile_emulator, m) {
  nb::set_leak_warnings(false);
  m.doc() = "The emulator's core: registers of 32 lanes, operations on them, "
            "and the loop that runs programs.";

  nb::class_<Registers>(
      m, "Registers",
      "The registers of a warp: one of 256 bytes for each slot.")
      .def(nb::init<const std::vector<uint64_t> &, const std::vector<int> &>(),
           nb::arg("values"), nb::arg("widths"))
      .def(
          "copy", [](const Registers &self) { return Registers(self); },
          "Return registers with the same values.")
      .def(
          "bytes",
          [](Registers &self) {
            return nb::ndarray<nb::numpy, uint8_t, nb::ndim<2>>(
                self.data.get(), {self.count, size_t(REGISTER_BYTES)},
                nb::find(self));
          },
          "Return the bytes themselves, of shape (slots, 256).");

  nb::class_<Counter>(m, "Counter", "Counts the instructions of warps.")
      .def(nb::init<>())
      .def_rw("steps", &Counter::steps);

  nb::class_<Code>(m, "Code", nb::type_slots(slots), "A decoded program.")
      .def(
          "__init__",
          [](Code *self, nb::object maskOf) {
            new (self) Code();
            self->maskOf = std::move(maskOf);
          },
          nb::arg("mask_of"))
      .def(
          "block",
          [](Code &self, int next, int instructions, nb::object control,
             nb::object at) {
            Block block;
            block.next = next;
            block.instructions = instructions;
            block.control = std::move(control);
            block.at = std::move(at);
            self.blocks.push_back(std::move(block));
          },
          nb::arg("next"), nb::arg("instructions"), nb::arg("control").none(),
          nb::arg("at").none(), "Begin a block.")
      .def(
          "branch",
          [](Code &self, int target, int predicate, bool negated, int meet) {
            Block &block = self.blocks.back();
            block.branches = true;
            block.target = target;
            block.predicate = predicate;
            block.negated = negated;
            block.meet = meet;
          },
          nb::arg("target"), nb::arg("predicate"), nb::arg("negated"),
          nb::arg("meet"),
          "End the block with a branch: always taken where `predicate` is -1.")
      .def(
          "step",
          [](Code &self, nb::object step) {
            self.blocks.back().body.push_back(
                makeItem(step, "", 0, {}, 0, false));
          },
          nb::arg("step"), "Add a step in Python to the block.")
      .def(
          "operation",
          [](Code &self, const std::string &name, int target,
             const std::vector<int> &sources, int number, bool whole) {
            if (sources.size() > 3)
              throw nb::value_error("an operation has at most three sources");
            self.blocks.back().body.push_back(
                makeItem(nb::none(), name, target, sources, number, whole));
          },
          nb::arg("name"), nb::arg("target"), nb::arg("sources"),
          nb::arg("number"), nb::arg("whole"), "Add an operation to the block.")
      .def("run", &Code::run, nb::arg("warp"), nb::arg("fragment"),
           nb::arg("registers"), nb::arg("counter"), nb::arg("quantum"),
           nb::arg("enough"),
           "Run `fragment` for up to `quantum` blocks; returns why it stopped, "
           "and how many are left.");
  m.def(
      "has_operation",
      [](const std::string &name) { return findFunction(name) != nullptr; },
      nb::arg("name"), "Tell whether there is an operation of this name.");
}
