// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module `_tile_emulator`: registers of warps, decoded programs, the loop
// that runs them, memory, and what is known of shared memory. What the core has
// no operation for is a step or a control in Python, which the loop calls.
#include "Access.h"
#include "Cluster.h"
#include "Exchange.h"
#include "Operations.h"

#include <algorithm>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <unordered_map>
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
      : count(values.size()), widths(widths),
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
      : count(other.count), widths(other.widths),
        data(new (std::align_val_t(64)) uint8_t[other.count * REGISTER_BYTES]) {
    std::memcpy(data.get(), other.data.get(), count * REGISTER_BYTES);
  }

  const size_t count;
  const std::vector<int> widths;
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

enum class Kind { Native, Access, Guard, EndGuard, Python };

struct Item {
  Kind kind;
  Operation operation;
  bool negated = false;
  // A step in Python, or the instruction of an access.
  nb::object step;
  std::shared_ptr<Access> access;
  // What a strong access releases and acquires, as a function in Python of the
  // warp, the mask and the addresses; and whether it always releases something.
  nb::object sync;
  bool releases = false;
};

struct Block {
  std::vector<Item> body;
  int next = 0, instructions = 0;
  nb::object control, at;
  // A branch: to `target` where the predicate holds (always without one); lanes
  // meet again at `meet`.
  bool branches = false, negated = false;
  int predicate = -1, target = 0, meet = 0;
  // What `control` does where no lanes are missing.
  std::shared_ptr<Exchange> exchange;
  // A barrier of the CTA, of the number in a slot, likewise; -1 where there is
  // none. `count` is that of how many threads open it.
  int barrier = -1, count = -1;
  bool waits = false, aligned = false;
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
      : code(code), warp(warp), fragment(fragment),
        state(*nb::inst_ptr<Warp>(warp)), outer(current) {
    current = this;
    pc = nb::cast<int>(fragment.attr("pc"));
    nb::object join = fragment.attr("join");
    meets = join.is_none() ? -1 : nb::cast<int>(join.attr("pc"));
    reload();
  }
  Run(const Run &) = delete;
  ~Run() { current = outer; }

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
    inside = nb::handle();
    toldAt = false;
  }
  // Within a block only the warp is at an instruction.
  void comeInside(nb::handle to) { inside = to; }
  void tell() {
    if (!toldPlace)
      fragment.attr("pc") = pc;
    if (!toldAt) {
      warp.attr("at") = at;
      fragment.attr("at") = at;
    }
    if (inside.is_valid())
      warp.attr("at") = inside;
    inside = nb::handle();
    toldPlace = toldAt = true;
  }

  // The innermost run.
  static inline Run *current = nullptr;

  Code &code;
  nb::handle warp, fragment, at, inside;
  Warp &state;
  Run *outer;
  nb::object mask;
  uint32_t bits = 0;
  int pc = 0, meets = -1;
  bool toldPlace = true, toldAt = true;
};

using Array = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig>;

// Lets Python make the reports.
class ReportingCluster : public Cluster, private Reporter {
public:
  ReportingCluster(Memory &memory, Array params, int ctaCount, int threadCount,
                   int liveThreads, int64_t usableBytes, bool orders,
                   bool strict)
      : Cluster(memory, params.data(), params.size(), ctaCount, threadCount,
                liveThreads, usableBytes, orders, strict),
        params(params) {
    reporter = this;
  }

private:
  void report(const char *what, const std::vector<int64_t> &values) override {
    if (Run::current)
      Run::current->tell();
    nb::find(*this).attr("explain")(what, values);
  }
  void wake(NamedBarrier &barrier) override {
    nb::find(*this)
        .attr("scheduler")
        .attr("wake")(nb::cast(&barrier, nb::rv_policy::reference));
  }
  Array params;
};

nb::object maskOf(Run &run, const Lanes &lanes) {
  return lanes.active == run.bits ? run.mask : run.code.maskOf(lanes.active);
}

// Returns whether it has polled.
bool runAccess(const Item &item, Run &run, const Lanes &lanes) {
  const Access &access = *item.access;
  Accesses accesses = accessesOf(access, run.state, lanes);
  auto sync = [&] {
    bool matters = item.releases || run.state.cluster.published ||
                   (access.action != Access::LOAD && run.state.fenced);
    if (item.sync.is_none() || !matters)
      return;
    run.tell();
    std::vector<uint64_t> addresses(accesses.places.begin(),
                                    accesses.places.begin() + accesses.count);
    item.sync(run.warp, maskOf(run, lanes), addresses);
  };
  if (access.action != Access::LOAD)
    sync();
  bool polled = perform(access, accesses, run.state, lanes);
  if (polled)
    run.fragment.attr("polls") =
        nb::cast<int64_t>(run.fragment.attr("polls")) + 1;
  if (access.action == Access::LOAD)
    sync();
  return polled;
}

// Returns whether a step in Python ran, which may have polled.
bool runBody(const Block &block, Run &run, Lanes &lanes) {
  bool called = false;
  for (size_t i = 0, count = block.body.size(); i < count; ++i) {
    const Item &item = block.body[i];
    switch (item.kind) {
    case Kind::Native:
      item.operation.function(item.operation, lanes);
      break;
    case Kind::Access:
      run.comeInside(item.step);
      called |= runAccess(item, run, lanes);
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
      item.step(run.warp, maskOf(run, lanes));
      break;
    }
  }
  return called;
}

// Returns the barrier where the fragment must wait.
NamedBarrier *syncAt(const Block &block, Run &run, const Lanes &lanes) {
  int first = __builtin_ctz(run.bits);
  uint32_t number = lanes.at<uint32_t>(block.barrier)[first];
  int expected = NamedBarrier::ALL;
  if (block.count >= 0)
    expected =
        static_cast<int>(lanes.at<uint32_t>(block.count)[first] & 0x7fffffff);
  return run.state.cluster.sync(run.state, run.fragment.ptr(), run.bits, number,
                                expected, 0, 0, block.waits);
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
    } else if (block.barrier >= 0 &&
               (!block.aligned || run.bits == run.state.live)) {
      run.come(block.at);
      if (NamedBarrier *barrier = syncAt(block, run, lanes)) {
        fragment.attr("wait") = nb::cast(barrier, nb::rv_policy::reference);
        result = BLOCKED;
        break;
      }
      run.go(block.next);
    } else if (block.exchange && run.state.meetings == 0 &&
               block.exchange->isWhole(run.state, lanes)) {
      run.come(block.at);
      block.exchange->act(run.state, lanes);
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

Space spaceOf(const std::string &name) {
  static const std::unordered_map<std::string, Space> spaces = {
      {"global", Space::Global},
      {"shared", Space::Shared},
      {"shared::cluster", Space::SharedCluster},
      {"local", Space::Local},
      {"param", Space::Param},
      {"generic", Space::Generic}};
  auto found = spaces.find(name);
  if (found == spaces.end())
    throw nb::key_error(name.c_str());
  return found->second;
}

// An array over what `owner` holds.
template <class T>
nb::ndarray<nb::numpy, T>
arrayOver(T *data, std::initializer_list<size_t> shape, nb::handle owner) {
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

using Answer =
    std::tuple<uint32_t, bool, std::vector<std::pair<int, uint32_t>>>;
template <class Value>
Answer ask(MBarrier &barrier, const Warp &warp, uint32_t bits,
           nb::ndarray<const Value, nb::shape<LANES>, nb::c_contig> values,
           bool parity, bool fails, int line) {
  MBarrier::Answer answer =
      barrier.ask(warp, bits, values.data(), parity, fails, line);
  return {answer.passed, answer.missed, std::move(answer.phases)};
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
    for (Item &item : block.body) {
      Py_VISIT(item.step.ptr());
      Py_VISIT(item.sync.ptr());
    }
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
          "Return the bytes themselves, of shape (slots, 256).")
      .def(
          "digest",
          [](const Registers &self, uint32_t bits) {
            uint64_t digest = 0;
            for (size_t slot = 0; slot < self.count; ++slot) {
              const uint8_t *data = self.data.get() + slot * REGISTER_BYTES;
              int bytes = self.widths[slot] == 1 ? 1 : self.widths[slot] / 8;
              for (int lane = 0; lane < LANES; ++lane) {
                if (!(bits >> lane & 1))
                  continue;
                uint64_t value = 0;
                std::memcpy(&value, data + lane * bytes, bytes);
                digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
                digest ^= digest >> 32;
              }
            }
            return digest;
          },
          nb::arg("bits"), "Return a hash of what some lanes hold.");

  nb::class_<Clock>(m, "Clock",
                    "What a thread knows of all others; never changed.")
      .def(nb::new_([](nb::ndarray<const uint32_t, nb::shape<ROWS, -1>,
                                   nb::c_contig, nb::device::cpu>
                           rows) {
             auto clock =
                 std::make_shared<Clock>(static_cast<int>(rows.shape(1)));
             std::copy_n(rows.data(), rows.size(), clock->row(0));
             return clock;
           }),
           nb::arg("rows"))
      .def("get", &Clock::get, nb::arg("row"), nb::arg("column"),
           "Return one entry; columns that are not stored are zero.")
      .def(
          "joined",
          [](const ClockPtr &self, const ClockPtr &other) {
            return join(self, other);
          },
          nb::arg("other"),
          "Return the clock that knows what both know; one of the two where it "
          "already does.")
      .def("kept", &keep, nb::arg("rows"),
           "Return what it says in some rows, given by the bits `1 << row`.")
      .def("with_epoch", &add, nb::arg("column"), nb::arg("rows"),
           nb::arg("epoch"),
           "Return a clock that says at least `epoch` of a column, too.")
      .def("knows_causes_of", &Clock::knowsCausesOf, nb::arg("other"),
           nb::arg("but"), nb::arg("but_too"),
           "Tell whether it knows what `other` says was caused, but for two "
           "columns.")
      .def_prop_ro(
          "rows",
          [](Clock &self) {
            return arrayOver<const uint32_t>(
                self.row(0), {ROWS, size_t(self.columns)}, nb::find(self));
          },
          "The entries, of shape (5, columns).");

  nb::class_<Memory>(m, "Memory", "Segments of global memory by address.")
      .def(nb::init<>())
      .def(
          "insert",
          [](Memory &self, uint64_t base, Array data) {
            self.insert(base, data.size(), data.data());
          },
          nb::arg("base"), nb::arg("data"),
          "Place bytes at an address; the caller keeps them alive until they "
          "are removed.")
      .def("remove", &Memory::remove, nb::arg("base"));

  nb::class_<Cell>(m, "Cell",
                   "Who has written and read a byte of shared memory.")
      .def_ro("writer", &Cell::writer)
      .def_ro("writer_epoch", &Cell::writerEpoch)
      .def_ro("writer_line", &Cell::writerLine)
      .def_ro("reader", &Cell::reader)
      .def_ro("reader_line", &Cell::readerLine);

  using Core = ReportingCluster;
  nb::class_<Core>(
      m, "Cluster",
      "What the CTAs of a cluster share, and what is known of each "
      "byte of their shared memory.")
      .def(nb::init<Memory &, Array, int, int, int, int64_t, bool, bool>(),
           nb::keep_alive<1, 2>(), nb::arg("memory"), nb::arg("params"),
           nb::arg("ctas"), nb::arg("threads"), nb::arg("live_threads"),
           nb::arg("shared_bytes"), nb::arg("orders"), nb::arg("strict"))
      .def_ro("orders", &Core::orders)
      .def_ro("first_clock", &Core::firstClock)
      .def_rw("writes", &Core::writes, "Counts what other threads may see.")
      .def_rw("has_deferred", &Core::deferred)
      .def_rw("has_published", &Core::published,
              "Whether anything was released through memory.")
      .def("epochs",
           [](Core &self) {
             return arrayOver(self.epoch.data(), {self.epoch.size()},
                              nb::find(self));
           })
      .def("fenced_epochs",
           [](Core &self) {
             return arrayOver(self.fenced.data(), {self.fenced.size()},
                              nb::find(self));
           })
      .def(
          "shared_memory",
          [](Core &self) {
            return arrayOver(self.bytes(),
                             {size_t(self.ctaCount * self.sharedBytes)},
                             nb::find(self));
          },
          "Return the bytes of all CTAs.")
      .def(
          "remote_epochs",
          [](Core &self, int rank) {
            return arrayOver(self.remote.data() +
                                 int64_t(rank) * self.threadCount,
                             {size_t(self.threadCount)}, nb::find(self));
          },
          nb::arg("rank"),
          "Return when each thread of a peer last used a CTA's memory.")
      .def(
          "remote_lines",
          [](Core &self, int rank) {
            return arrayOver(self.remoteLine.data() +
                                 int64_t(rank) * self.threadCount,
                             {size_t(self.threadCount)}, nb::find(self));
          },
          nb::arg("rank"))
      .def(
          "live_threads",
          [](const Core &self, int rank) { return self.liveThreads[rank]; },
          nb::arg("rank"), "Return how many threads of a CTA have not exited.")
      .def("leave", &Core::leave, nb::arg("rank"), nb::arg("threads"),
           "Let threads of a CTA exit.")
      .def("open_without_exited", &Core::openWithoutExited, nb::arg("rank"),
           "Open the barriers of a CTA that wait for nobody else.")
      .def(
          "sync",
          [](Core &self, Warp &warp, nb::handle fragment, uint32_t bits,
             uint32_t number, std::optional<uint32_t> expected, int votes,
             int yes, bool waits) {
            int64_t count = expected ? int64_t(*expected) : NamedBarrier::ALL;
            return self.sync(warp, fragment.ptr(), bits, number, count, votes,
                             yes, waits);
          },
          nb::rv_policy::reference, nb::arg("warp"), nb::arg("fragment"),
          nb::arg("bits"), nb::arg("number"), nb::arg("expected").none(),
          nb::arg("votes"), nb::arg("yes"), nb::arg("waits"),
          "Let lanes arrive at a barrier of their CTA, or look again; returns "
          "it "
          "where they must wait.")
      .def(
          "exit", [](Core &self, int rank) { self.exited[rank] = true; },
          nb::arg("rank"), "Record that a CTA has exited.")
      .def("release", &Core::release, nb::arg("warp"), nb::arg("bits"),
           "Return what the threads `bits` know, themselves included; their "
           "epoch ends.")
      .def("order_lanes", &Core::orderLanes, nb::arg("warp"), nb::arg("bits"),
           nb::arg("rows"),
           "Let the threads `bits` know of each other what `rows` say.")
      .def("proxy_fence", &Core::proxyFence, nb::arg("warp"), nb::arg("bits"),
           "What the threads know becomes known to the async proxy.")
      .def("acquire", &Core::acquire, nb::arg("warp"), nb::arg("bits"),
           nb::arg("clock"),
           "Let the threads `bits` know what `clock` knows as well.")
      .def(
          "places",
          [](Core &self, Warp &warp, const std::vector<int> &lanes,
             const std::vector<uint64_t> &addresses, int nbytes, int64_t align,
             bool localForm, int line) {
            Accesses accesses;
            accesses.nbytes = nbytes;
            accesses.line = line;
            for (size_t i = 0; i < std::min<size_t>(lanes.size(), LANES); ++i) {
              accesses.lanes[i] = static_cast<uint8_t>(lanes[i]);
              accesses.places[i] = static_cast<int64_t>(addresses[i]);
              ++accesses.count;
            }
            self.place(warp, accesses, align, localForm);
            return std::vector<int64_t>(accesses.places.begin(),
                                        accesses.places.begin() +
                                            accesses.count);
          },
          nb::arg("warp"), nb::arg("lanes"), nb::arg("addresses"),
          nb::arg("nbytes"), nb::arg("align"), nb::arg("local_form"),
          nb::arg("line"),
          "Turn shared addresses into places of the cluster's bytes; checks "
          "them.")
      .def(
          "write",
          [](Core &self, Warp &warp, int lane, int64_t place, nb::bytes values,
             int line) {
            Accesses accesses;
            accesses.count = 1;
            accesses.nbytes = static_cast<int>(values.size());
            accesses.line = line;
            accesses.lanes[0] = static_cast<uint8_t>(lane);
            accesses.places[0] = place;
            self.write(warp, accesses,
                       reinterpret_cast<const uint8_t *>(values.c_str()));
          },
          nb::arg("warp"), nb::arg("lane"), nb::arg("place"), nb::arg("values"),
          nb::arg("line"), "Check and record that a lane writes these bytes.")
      .def(
          "read",
          [](Core &self, Warp &warp, const std::vector<int> &lanes,
             const std::vector<int64_t> &places, int nbytes, int line) {
            Accesses accesses;
            accesses.nbytes = nbytes;
            accesses.line = line;
            for (size_t i = 0; i < std::min<size_t>(lanes.size(), LANES); ++i) {
              accesses.lanes[i] = static_cast<uint8_t>(lanes[i]);
              accesses.places[i] = places[i];
              ++accesses.count;
            }
            self.read(warp, accesses);
          },
          nb::arg("warp"), nb::arg("lanes"), nb::arg("places"),
          nb::arg("nbytes"), nb::arg("line"),
          "Check and record that lanes read the bytes at `places`.")
      .def(
          "begin_barrier",
          [](Core &self, MBarrier &barrier) {
            self.barriers[barrier.place] = &barrier;
            self.mark(barrier.place, barrier.place + 8, true, false);
          },
          nb::arg("barrier"), "Let its bytes be those of a live mbarrier.")
      .def(
          "end_barrier",
          [](Core &self, MBarrier &barrier, int thread, int line) {
            self.barriers.erase(barrier.place);
            self.mark(barrier.place, barrier.place + 8, false, false);
            self.forget(barrier.place, barrier.place + 8, thread, line);
          },
          nb::arg("barrier"), nb::arg("thread"), nb::arg("line"),
          "Let `thread` take the mbarrier away.")
      .def(
          "barrier_at",
          [](Core &self, Warp &warp, int lane, int64_t place) {
            Accesses accesses;
            accesses.count = 1;
            accesses.lanes[0] = static_cast<uint8_t>(lane);
            accesses.places[0] = place;
            auto found = self.barriers.find(place);
            if (found == self.barriers.end())
              self.reporter->report("no_barrier", {warp.thread0 + lane, place});
            return nb::find(*self.barriers.at(place));
          },
          nb::arg("warp"), nb::arg("lane"), nb::arg("place"),
          "Return the live mbarrier at a place of shared memory.")
      .def(
          "use_barriers",
          [](Core &self, Warp &warp, uint32_t bits,
             nb::ndarray<const uint64_t, nb::shape<LANES>, nb::c_contig>
                 addresses,
             bool localForm, int line) {
            Accesses accesses;
            accesses.nbytes = 8;
            accesses.line = line;
            for (int lane = 0; lane < LANES; ++lane)
              if (bits >> lane & 1) {
                accesses.lanes[accesses.count] = static_cast<uint8_t>(lane);
                accesses.places[accesses.count++] =
                    static_cast<int64_t>(addresses.data()[lane]);
              }
            self.place(warp, accesses, 8, localForm);
            std::vector<std::tuple<uint32_t, nb::object>> found;
            for (auto &[lanes, barrier] : self.useBarriers(warp, accesses))
              found.emplace_back(lanes, nb::find(*barrier));
            return found;
          },
          nb::arg("warp"), nb::arg("bits"), nb::arg("addresses"),
          nb::arg("local_form"), nb::arg("line"),
          "Return the mbarriers that lanes use, and the lanes of each, by the "
          "first of them; checks them.")
      .def("mark", &Core::mark, nb::arg("start"), nb::arg("stop"),
           nb::arg("barrier"), nb::arg("written"),
           "Say whether bytes are those of an mbarrier, and mean something.")
      .def("forget", &Core::forget, nb::arg("start"), nb::arg("stop"),
           nb::arg("thread"), nb::arg("line"),
           "Let `thread` take what bytes hold away.")
      .def("cell", &Core::at, nb::arg("place"))
      .def(
          "unknown_reader", &Core::unknownReader, nb::arg("set"),
          nb::arg("clock"), nb::arg("mine"),
          "Return the first reader of a set, but for `mine`, that a clock does "
          "not know to be over; -1 where there is none.")
      .def(
          "add_copy",
          [](Core &self, bool asyncProxy, int width) {
            Copy copy;
            copy.asyncProxy = asyncProxy;
            copy.width = width;
            self.copies.push_back(copy);
          },
          nb::arg("async_proxy"), nb::arg("width"),
          "Add a copy, or a reduction of elements of `width` bytes.")
      .def(
          "complete_copy",
          [](Core &self, int number, int column, uint32_t epoch) {
            self.copies.at(number).column = column;
            self.copies.at(number).epoch = epoch;
          },
          nb::arg("number"), nb::arg("column"), nb::arg("epoch"),
          "Say which epoch of which column is the completion of a copy.")
      .def(
          "is_known",
          [](const Core &self, int number, const Clock &clock, int row) {
            return self.known(number, clock, static_cast<Row>(row));
          },
          nb::arg("number"), nb::arg("clock"), nb::arg("row"),
          "Tell whether a thread with this clock has observed the completion "
          "of a copy, and of those that it was combined with.")
      .def(
          "copy_reads", &Core::copyReads, nb::arg("copy"), nb::arg("clock"),
          nb::arg("thread"), nb::arg("start"), nb::arg("stop"),
          nb::arg("leaves"),
          "Check and record that a copy reads shared bytes; `leaves` says that "
          "it takes them elsewhere.")
      .def("copy_meets", &Core::copyMeets, nb::arg("copy"), nb::arg("clock"),
           nb::arg("start"), nb::arg("stop"),
           "Check that no other copy uses the bytes that a copy writes.")
      .def(
          "copy_writes", &Core::copyWrites, nb::arg("copy"), nb::arg("clock"),
          nb::arg("thread"), nb::arg("start"), nb::arg("stop"),
          nb::arg("source"), nb::arg("line"),
          "Check and record that a copy writes shared bytes; those of a shared "
          "source (-1: none) that nobody has written stay so.")
      .def(
          "begin_writing",
          [](Core &self, int copy, uint64_t start, uint64_t stop) {
            self.unwritten.push_back({start, stop, copy});
          },
          nb::arg("copy"), nb::arg("start"), nb::arg("stop"),
          "A copy may write these global bytes until a wait of its thread.")
      .def(
          "end_writing",
          [](Core &self, int copy) {
            auto &spans = self.unwritten;
            for (size_t i = 0; i < spans.size(); ++i)
              if (spans[i].copy == copy)
                spans.erase(spans.begin() + static_cast<int64_t>(i--));
          },
          nb::arg("copy"))
      .def(
          "check_copied",
          [](Core &self, int thread, uint64_t address, int nbytes) {
            Accesses accesses;
            accesses.count = 1;
            accesses.nbytes = nbytes;
            accesses.lanes[0] = 0;
            accesses.places[0] = static_cast<int64_t>(address);
            self.checkUnwritten(accesses, thread, Core::COPIED);
          },
          nb::arg("thread"), nb::arg("address"), nb::arg("nbytes"),
          "Report a copy from global bytes that another may still write.");

  nb::class_<MBarrier>(m, "MBarrier", "What threads know of an mbarrier.")
      .def(nb::init<int64_t, int, int, int, uint32_t>(), nb::arg("place"),
           nb::arg("column"), nb::arg("base"), nb::arg("init_thread"),
           nb::arg("init_epoch"))
      .def_ro("place", &MBarrier::place)
      .def_ro("column", &MBarrier::column)
      .def_ro("base", &MBarrier::base)
      .def_ro("init_thread", &MBarrier::initThread)
      .def_ro("init_epoch", &MBarrier::initEpoch)
      .def_ro("phase", &MBarrier::phase)
      .def("has_visible_init", &MBarrier::hasVisibleInit, nb::arg("clock"),
           nb::arg("thread"))
      .def(
          "add_fence",
          [](MBarrier &self, int thread, uint32_t epoch) {
            self.fences.emplace_back(thread, epoch);
          },
          nb::arg("thread"), nb::arg("epoch"),
          "A thread that sees the init has fenced it.")
      .def_prop_ro(
          "users",
          [](const MBarrier &self) {
            std::vector<std::tuple<int, uint32_t>> users;
            for (int thread : self.users)
              users.emplace_back(thread, self.used.at(thread));
            return users;
          },
          "Who has used it, and when last.")
      .def(
          "add_bytes",
          [](MBarrier &self) { self.bytePhases.insert(self.phase); },
          "The phase has got bytes.")
      .def("complete_phase", &MBarrier::complete, nb::arg("wide"),
           nb::arg("near"),
           "Complete the phase; the clocks are what that tells those who wait, "
           "at a wide scope and at that of the CTA.")
      .def(
          "clock_of",
          [](const MBarrier &self, int phase, bool near) -> ClockPtr {
            auto found = self.done.find(phase);
            if (found == self.done.end())
              return nullptr;
            return near ? found->second.second : found->second.first;
          },
          nb::arg("phase"), nb::arg("cta_scope"),
          "Return what the completion of a phase tells a waiter, or None when "
          "it "
          "is long past.")
      .def("known_phases", &MBarrier::knownPhases, nb::arg("clock"),
           nb::arg("thread"),
           "Return how many phases a thread, with this clock, knows to be "
           "complete.")
      .def(
          "last_at_once",
          [](const MBarrier &self,
             int thread) -> std::optional<std::pair<int, int>> {
            auto found = self.atOnce.find(thread);
            if (found == self.atOnce.end())
              return std::nullopt;
            return found->second;
          },
          nb::arg("thread"),
          "Return line and phase of the last wait of a thread, if it returned "
          "at "
          "once.")
      .def("ask", &ask<uint32_t>, nb::arg("warp"), nb::arg("bits"),
           nb::arg("values"), nb::arg("parity"), nb::arg("fails"),
           nb::arg("line"),
           "Decide a wait of some lanes for parities, or states; returns the "
           "lanes that pass, whether others miss a phase because it `fails`, "
           "and "
           "the phases with their lanes.")
      .def("ask", &ask<uint64_t>, nb::arg("warp"), nb::arg("bits"),
           nb::arg("values"), nb::arg("parity"), nb::arg("fails"),
           nb::arg("line"));

  nb::class_<NamedBarrier>(m, "NamedBarrier",
                           "One of the sixteen barriers of `bar.sync`.")
      .def_ro("arrived", &NamedBarrier::arrived)
      .def_prop_ro(
          "expected",
          [](const NamedBarrier &self) -> std::optional<int64_t> {
            if (self.expected == NamedBarrier::ALL)
              return std::nullopt;
            return self.expected;
          },
          "How many threads open it; None for all of the CTA.")
      .def("members_of", &NamedBarrier::membersOf, nb::arg("warp"),
           "Return the lanes of a warp that have arrived.")
      .def("is_used_by", &NamedBarrier::isUsedBy, nb::arg("warp"));

  nb::class_<Warp>(m, "Warp",
                   "What the lanes of a warp know, and their memory.")
      .def(
          "__init__",
          [](Warp *self, Core &cluster, int rank, int thread0, uint32_t live,
             int localBytes) {
            new (self) Warp(cluster, rank, thread0, live, localBytes);
          },
          nb::arg("cluster"), nb::arg("rank"), nb::arg("thread0"),
          nb::arg("live"), nb::arg("local_bytes"))
      .def_ro("thread0", &Warp::thread0)
      .def_rw("live", &Warp::live)
      .def(
          "waits_at_barrier",
          [](const Warp &self, nb::handle fragment) {
            return self.waits.count(fragment.ptr()) != 0;
          },
          nb::arg("fragment"),
          "Tell whether a fragment has arrived at a barrier of the CTA.")
      .def_prop_ro(
          "last_votes",
          [](const Warp &self) {
            return std::make_pair(self.lastBarrier->lastVotes,
                                  self.lastBarrier->lastYes);
          },
          "The votes at the barrier that lanes were the last to leave, and how "
          "many say yes.")
      .def_rw("meetings", &Warp::meetings,
              "Counts fragments that wait for lanes at an instruction.")
      .def_rw("has_fence", &Warp::fenced,
              "Whether a fence hands something over to strong stores.")
      .def("local_memory",
           [](Warp &self) {
             return arrayOver(self.local.data(),
                              {LANES, size_t(self.localBytes)}, nb::find(self));
           })
      .def_prop_ro(
          "groups",
          [](Warp &self) {
            std::vector<std::tuple<uint32_t, ClockPtr>> groups;
            for (const Warp::Group &group : self.groups)
              groups.emplace_back(group.bits, group.clock);
            return groups;
          },
          "The lanes by what they know.")
      .def(
          "lane_clocks",
          [](Warp &self, uint32_t bits) {
            std::vector<std::tuple<uint32_t, ClockPtr>> groups;
            for (const Warp::Group &group : self.groups)
              if (self.groups.size() == 1)
                groups.emplace_back(bits, group.clock);
              else if (group.bits & bits)
                groups.emplace_back(group.bits & bits, group.clock);
            return groups;
          },
          nb::arg("bits"), "Return the lanes `bits` grouped by what they know.")
      .def("clock_of", &Warp::clockOf, nb::arg("lane"),
           "Return what one lane knows.")
      .def("set_clock", &Warp::setClock, nb::arg("bits"), nb::arg("clock"),
           "Let the lanes `bits` know exactly `clock`.");

  nb::class_<Counter>(m, "Counter", "Counts the instructions of warps.")
      .def(nb::init<>())
      .def_rw("steps", &Counter::steps);

  nb::class_<Exchange>(m, "Exchange",
                       "What lanes of a warp give each other at once.")
      .def(nb::new_([](const std::string &name, int members, int target,
                       bool targetIsPredicate, int predicate,
                       const std::vector<int> &sources, uint32_t rows) {
             auto exchange = std::make_shared<Exchange>();
             if (!name.empty()) {
               exchange->function = findExchange(name);
               if (!exchange->function)
                 throw nb::key_error(name.c_str());
             }
             exchange->members = members;
             exchange->target = target;
             exchange->targetIsPredicate = targetIsPredicate;
             exchange->predicate = predicate;
             exchange->sources = sources;
             exchange->rows = rows;
             return exchange;
           }),
           nb::arg("name"), nb::arg("members"), nb::arg("target"),
           nb::arg("target_is_predicate"), nb::arg("predicate"),
           nb::arg("sources"), nb::arg("rows"))
      .def(
          "act",
          [](const Exchange &self, Warp &warp, Registers &registers,
             uint32_t bits) {
            Lanes lanes;
            lanes.registers = registers.data.get();
            lanes.setActive(bits);
            self.act(warp, lanes);
          },
          nb::arg("warp"), nb::arg("registers"), nb::arg("bits"),
          "Let the lanes `bits` take part.");

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
          "barrier",
          [](Code &self, int number, int count, bool waits, bool aligned) {
            Block &block = self.blocks.back();
            block.barrier = number;
            block.count = count;
            block.waits = waits;
            block.aligned = aligned;
          },
          nb::arg("number"), nb::arg("count"), nb::arg("waits"),
          nb::arg("aligned"),
          "Let the block end at a barrier of the CTA, of the number in a slot.")
      .def(
          "exchange",
          [](Code &self, std::shared_ptr<Exchange> exchange) {
            self.blocks.back().exchange = std::move(exchange);
          },
          nb::arg("exchange"),
          "Say what the control of the block does where no lanes are missing.")
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
            if (sources.size() > std::size(Operation().sources))
              throw nb::value_error("an operation has at most four sources");
            self.blocks.back().body.push_back(
                makeItem(nb::none(), name, target, sources, number, whole));
          },
          nb::arg("name"), nb::arg("target"), nb::arg("sources"),
          nb::arg("number"), nb::arg("whole"), "Add an operation to the block.")
      .def(
          "access",
          [](Code &self, nb::handle from) {
            auto access = std::make_shared<Access>();
            nb::handle a = from.attr("action");
            const std::string action = nb::cast<std::string>(a);
            access->action = action == "ld"   ? Access::LOAD
                             : action == "st" ? Access::STORE
                                              : Access::ATOMIC;
            access->space = spaceOf(nb::cast<std::string>(from.attr("space")));
            const std::string type = nb::cast<std::string>(from.attr("type"));
            access->width = nb::cast<int>(from.attr("width"));
            access->strength =
                static_cast<Strength>(nb::cast<int>(from.attr("strength")));
            access->base = nb::cast<int>(from.attr("base"));
            access->wideBase = nb::cast<bool>(from.attr("wide_base"));
            access->offset = nb::cast<int64_t>(from.attr("offset"));
            access->slots = nb::cast<std::vector<int>>(from.attr("slots"));
            access->operands =
                nb::cast<std::vector<int>>(from.attr("operands"));
            access->others = nb::cast<std::vector<int>>(from.attr("others"));
            Item item;
            item.kind = Kind::Access;
            item.step = from.attr("at");
            access->line = nb::cast<int>(item.step.attr("line"));
            if (access->action == Access::ATOMIC) {
              access->combine = findCombine(action, type);
              if (!access->combine)
                throw nb::key_error((action + "." + type).c_str());
            }
            item.sync = from.attr("sync");
            item.releases = nb::cast<bool>(from.attr("releases"));
            item.access = std::move(access);
            self.blocks.back().body.push_back(std::move(item));
          },
          nb::arg("access"), "Add a load, a store or an atomic to the block.")
      .def("run", &Code::run, nb::arg("warp"), nb::arg("fragment"),
           nb::arg("registers"), nb::arg("counter"), nb::arg("quantum"),
           nb::arg("enough"),
           "Run `fragment` for up to `quantum` blocks; returns why it stopped, "
           "and how many are left.");
  m.def(
      "combine",
      [](const std::string &operation, const std::string &type, nb::bytes old,
         nb::bytes operand, int width) {
        Combine function = findCombine(operation, type);
        if (!function)
          throw nb::key_error((operation + "." + type).c_str());
        std::string result(old.size(), 0);
        auto bytes = [](const char *data) {
          return reinterpret_cast<const uint8_t *>(data);
        };
        for (size_t i = 0; i + width <= std::min(old.size(), operand.size());
             i += width)
          function(bytes(old.c_str()) + i, bytes(operand.c_str()) + i, nullptr,
                   reinterpret_cast<uint8_t *>(result.data()) + i);
        return nb::bytes(result.data(), result.size());
      },
      nb::arg("operation"), nb::arg("type"), nb::arg("old"), nb::arg("operand"),
      nb::arg("width"),
      "Return what an atomic makes of elements of `width` bytes in memory.");
  m.def(
      "has_combination",
      [](const std::string &operation, const std::string &type) {
        return findCombine(operation, type) != nullptr;
      },
      nb::arg("operation"), nb::arg("type"),
      "Tell whether there is an atomic operation on a type.");
  m.def(
      "has_operation",
      [](const std::string &name) { return findFunction(name) != nullptr; },
      nb::arg("name"), "Tell whether there is an operation of this name.");
}
