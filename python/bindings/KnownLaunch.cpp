// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch with arguments that are known by their layouts: what Python would
// do step by step takes longer than the driver's call. Knows no library that
// tensors come from, and checks nothing that `mlir_tile.runtime.kernel` has not
// checked before.
#include "python/bindings/KnownLaunch.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

/// What of a memref's parameters is the same for all tensors of a layout.
struct Place {
  uint64_t offsetBytes;
  uint64_t misalignedBits;
  std::string tail;
};

/// What has been found out about arguments of certain layouts.
struct KnownArguments {
  using Described = std::tuple<uint64_t, uint64_t, nb::bytes>;

  KnownArguments(const std::vector<std::optional<Described>> &described,
                 uintptr_t driver, int32_t device, nb::object currentStream)
      : driver(reinterpret_cast<void *>(driver)), device(device),
        currentStream(std::move(currentStream)) {
    for (const std::optional<Described> &one : described) {
      auto &place = places.emplace_back();
      if (one)
        place = {
            std::get<0>(*one), std::get<1>(*one),
            std::string(std::get<2>(*one).c_str(), std::get<2>(*one).size())};
    }
  }

  /// One for each argument, nothing for scalars.
  std::vector<std::optional<Place>> places;
  void *driver;
  int32_t device;
  nb::object currentStream;
};

nb::object called(nb::handle function, nb::handle argument) {
  PyObject *result = PyObject_CallOneArg(function.ptr(), argument.ptr());
  if (!result)
    throw nb::python_error();
  return nb::steal(result);
}

/// A borrowed item, or null.
nb::handle found(nb::handle dict, nb::handle key) {
  PyObject *item = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (!item && PyErr_Occurred())
    throw nb::python_error();
  return item;
}

uint64_t wordOf(nb::handle number) {
  uint64_t word = PyLong_AsUnsignedLongLong(number.ptr());
  if (word == uint64_t(-1) && PyErr_Occurred())
    throw nb::python_error();
  return word;
}

/// A kernel, the shape of its launch and, perhaps, its stream.
class KnownLaunch {
public:
  /// `tile_runtime_launch`.
  using Run = int (*)(void *driver, const void *launch, int32_t device,
                      void *stream, const void *arguments);

  KnownLaunch(uintptr_t run, uintptr_t shape, nb::tuple converters,
              nb::dict readers, nb::dict known, std::optional<uint64_t> stream)
      : run(reinterpret_cast<Run>(run)),
        shape(reinterpret_cast<const void *>(shape)),
        converters(std::move(converters)), readers(std::move(readers)),
        known(std::move(known)), stream(stream) {}

  /// The kind of the failure, 0 for none, or -1 where something is not known.
  int launch(nb::tuple values) const {
    constexpr int isNew = -1;
    const size_t count = values.size();
    if (count != converters.size())
      return isNew;
    std::vector<uint64_t> given(count);
    nb::object key = nb::steal(PyTuple_New(count));
    for (size_t i = 0; i < count; ++i) {
      nb::handle value = PyTuple_GET_ITEM(values.ptr(), i);
      nb::handle converter = PyTuple_GET_ITEM(converters.ptr(), i);
      nb::object layout = nb::none();
      if (!converter.is_none()) {
        nb::bytes converted = nb::borrow<nb::bytes>(called(converter, value));
        std::memcpy(&given[i], converted.c_str(),
                    std::min(sizeof(uint64_t), converted.size()));
      } else {
        nb::handle reader =
            found(readers, reinterpret_cast<PyObject *>(Py_TYPE(value.ptr())));
        if (!reader)
          return isNew;
        nb::tuple read = nb::borrow<nb::tuple>(called(reader, value));
        given[i] = wordOf(read[0]);
        layout = read[1];
      }
      PyTuple_SET_ITEM(key.ptr(), i, layout.release().ptr());
    }
    // Another thread may forget it meanwhile.
    nb::object match = nb::borrow(found(known, key));
    if (!match.is_valid())
      return isNew;
    const auto &arguments = *nb::inst_ptr<KnownArguments>(match);
    uint64_t where = stream ? *stream
                            : wordOf(called(arguments.currentStream,
                                            nb::int_(arguments.device)));
    // From here on no Python runs that could launch something else.
    static thread_local std::vector<char> packed;
    packed.clear();
    auto pack = [&](const void *bytes, size_t size) {
      const char *first = static_cast<const char *>(bytes);
      packed.insert(packed.end(), first, first + size);
    };
    for (size_t i = 0; i < count; ++i) {
      pack(&given[i], sizeof(uint64_t));
      const std::optional<Place> &place = arguments.places[i];
      if (!place)
        continue;
      if ((given[i] - place->offsetBytes) & place->misalignedBits)
        return isNew;
      uint64_t begin = given[i] - place->offsetBytes;
      pack(&begin, sizeof(begin));
      pack(place->tail.data(), place->tail.size());
    }
    nb::gil_scoped_release released;
    return run(arguments.driver, shape, arguments.device,
               reinterpret_cast<void *>(where), packed.data());
  }

private:
  Run run;
  const void *shape;
  nb::tuple converters;
  nb::dict readers;
  nb::dict known;
  std::optional<uint64_t> stream;
};

} // namespace

void tile::defineKnownLaunch(nb::module_ &m) {
  nb::class_<KnownArguments>(
      m, "KnownArguments",
      "Arguments of a kernel that were checked, by their layouts.")
      .def(
          nb::init<
              const std::vector<std::optional<KnownArguments::Described>> &,
              uintptr_t, int32_t, nb::object>(),
          nb::arg("places"), nb::arg("driver"), nb::arg("device"),
          nb::arg("current_stream"),
          "`places` has, for each memref, the bytes before its first element, "
          "the bits that no pointer may have, and its parameters behind the "
          "pointers; None for each scalar. `current_stream` takes the device.");
  nb::class_<KnownLaunch>(m, "KnownLaunch",
                          "A launch of a kernel, for arguments that are known.")
      .def(nb::init<uintptr_t, uintptr_t, nb::tuple, nb::dict, nb::dict,
                    std::optional<uint64_t>>(),
           nb::arg("run"), nb::arg("shape"), nb::arg("converters"),
           nb::arg("readers"), nb::arg("known"), nb::arg("stream").none(),
           "`run` and `shape` are the addresses of `tile_runtime_launch` and "
           "of a `TileRuntimeLaunch` that outlives this. `converters` has what "
           "makes the bytes of each "
           "scalar, None for each memref; `readers` has, by type, what returns "
           "a tensor's pointer and layout; `known` has `KnownArguments` by the "
           "tuple of all layouts, None for scalars.")
      .def("launch", &KnownLaunch::launch, nb::arg("values"),
           "Launch; return the kind of the failure, 0 for none, or -1, without "
           "a launch, for arguments that are not known.");
}
