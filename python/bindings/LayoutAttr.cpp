// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `mlir_tile.dialects.tile.LayoutAttr`: shapes and strides are tuples of
// numbers and, where a mode is nested, of tuples.
#include "python/bindings/LayoutAttr.h"

#include "dialect/ElementSize.h"
#include "dialect/TileDialect.h"
#include "lib/Layout/Algebra.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir::python::nanobind_adaptors;
using tile::LayoutAttr;
namespace layout = tile::layout;

using Numbers = std::vector<int64_t>;
using SwizzleTuple = std::tuple<int64_t, int64_t, int64_t>;

static LayoutAttr unwrapLayout(MlirAttribute attribute) {
  return mlir::cast<LayoutAttr>(unwrap(attribute));
}

/// Appends the numbers of an entry of the argument `name`, integers of any kind
/// as NumPy's; `nesting` says where the parentheses stand.
static void readEntry(const char *name, nb::handle entry, Numbers &numbers,
                      std::string &nesting, int depth = 0) {
  nb::object index = nb::steal(PyNumber_Index(entry.ptr()));
  if (index) {
    int64_t number = 0;
    if (!nb::try_cast<int64_t>(index, number))
      throw nb::value_error("extents and strides must fit 64 bits");
    numbers.push_back(number);
    nesting += '.';
    return;
  }
  if (depth > LayoutAttr::kMaxNesting)
    throw nb::value_error("shape and stride must not be nested deeper than the "
                          "attribute's text");
  PyErr_Clear();
  if (!nb::isinstance<nb::sequence>(entry) || nb::isinstance<nb::str>(entry))
    throw nb::type_error(
        (std::string(name) +
         " must be ints, or sequences of ints, by dimension, got " +
         nb::cast<std::string>(nb::repr(entry)))
            .c_str());
  nesting += '(';
  for (nb::handle part : nb::borrow<nb::sequence>(entry))
    readEntry(name, part, numbers, nesting, depth + 1);
  nesting += ')';
}

/// The attribute, or a `ValueError` with what its verifier says.
static MlirAttribute checked(mlir::MLIRContext *context, const Numbers &extents,
                             const Numbers &strides, const Numbers &counts,
                             int64_t offset, const Numbers &swizzle) {
  std::string message;
  {
    mlir::ScopedDiagnosticHandler handler(context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            message = diagnostic.str();
                                            return mlir::success();
                                          });
    auto emit = [&] { return mlir::emitError(mlir::UnknownLoc::get(context)); };
    LayoutAttr attr = LayoutAttr::getChecked(
        emit, context, llvm::ArrayRef<int64_t>(extents),
        llvm::ArrayRef<int64_t>(strides), llvm::ArrayRef<int64_t>(counts),
        offset, llvm::ArrayRef<int64_t>(swizzle));
    if (attr)
      return wrap(attr);
  }
  throw nb::value_error(message.c_str());
}

static MlirAttribute make(nb::sequence shape, nb::sequence stride,
                          std::optional<int64_t> offset,
                          std::optional<SwizzleTuple> swizzle,
                          MlirContext context) {
  Numbers extents, strides, counts;
  std::string shapeNesting, strideNesting;
  for (nb::handle entry : shape) {
    size_t before = extents.size();
    readEntry("shape", entry, extents, shapeNesting);
    counts.push_back(extents.size() - before);
  }
  for (nb::handle entry : stride)
    readEntry("stride", entry, strides, strideNesting);
  if (shapeNesting != strideNesting)
    throw nb::value_error("shape and stride must have the same nesting");
  Numbers bits;
  if (swizzle)
    bits = {std::get<0>(*swizzle), std::get<1>(*swizzle),
            std::get<2>(*swizzle)};
  if (offset && mlir::ShapedType::isDynamic(*offset))
    throw nb::value_error("layout offset must be above -2^63 (l4)");
  unwrap(context)->loadDialect<tile::TileDialect>();
  return checked(unwrap(context), extents, strides, counts,
                 offset ? *offset : mlir::ShapedType::kDynamic, bits);
}

/// Extents or strides as nested tuples.
static nb::tuple nested(llvm::ArrayRef<int64_t> numbers,
                        llvm::ArrayRef<int64_t> counts) {
  nb::list entries;
  for (int64_t count : counts) {
    nb::list parts;
    for (int64_t number : numbers.take_front(count))
      parts.append(number);
    numbers = numbers.drop_front(count);
    if (count == 1)
      entries.append(parts[0]);
    else
      entries.append(nb::tuple(parts));
  }
  return nb::tuple(entries);
}

static std::optional<int64_t> offsetOf(LayoutAttr attr) {
  if (attr.hasDynamicOffset())
    return std::nullopt;
  return attr.getOffset();
}

static std::optional<SwizzleTuple> swizzleOf(LayoutAttr attr) {
  auto swizzle = attr.getSwizzle();
  if (swizzle.empty())
    return std::nullopt;
  return SwizzleTuple{swizzle[0], swizzle[1], swizzle[2]};
}

static std::string reprOf(MlirAttribute self) {
  LayoutAttr attr = unwrapLayout(self);
  auto text = [](nb::handle value) {
    return nb::cast<std::string>(nb::repr(value));
  };
  std::string result = "LayoutAttr.get(" +
                       text(nested(attr.getExtents(), attr.getModeCounts())) +
                       ", " +
                       text(nested(attr.getStrides(), attr.getModeCounts()));
  if (attr.getOffset() != 0)
    result += ", offset=" + text(nb::cast(offsetOf(attr)));
  if (!attr.getSwizzle().empty())
    result += ", swizzle=" + text(nb::cast(swizzleOf(attr)));
  return result + ")";
}

static int64_t placeOf(MlirAttribute self, const nb::args &coordinate) {
  LayoutAttr attr = unwrapLayout(self);
  if (attr.hasDynamicOffset())
    throw nb::value_error("the offset is known at run time only");
  auto shape = attr.getShape();
  if (coordinate.size() != shape.size())
    throw nb::value_error(("the layout has " + std::to_string(shape.size()) +
                           " dimensions, got " +
                           std::to_string(coordinate.size()) + " coordinates")
                              .c_str());
  llvm::SmallVector<int64_t> position;
  for (nb::handle index : coordinate) {
    int64_t extent = shape[position.size()];
    int64_t &number = position.emplace_back();
    if (!nb::try_cast<int64_t>(index, number) || number < 0 || number >= extent)
      throw nb::index_error(("coordinate must be in 0 to " +
                             std::to_string(extent - 1) + ", got " +
                             nb::cast<std::string>(nb::str(index)))
                                .c_str());
  }
  return layout::place(attr.getLayout(), position);
}

static MlirAttribute wrapLike(LayoutAttr attr,
                              const std::optional<layout::Layout> &result,
                              const char *message) {
  if (!result)
    throw nb::value_error(message);
  return wrap(
      LayoutAttr::get(attr.getContext(), *result, attr.hasDynamicOffset()));
}

static MlirType sliceType(MlirType source,
                          std::vector<std::optional<int64_t>> offsets,
                          Numbers sizes) {
  auto type = mlir::cast<mlir::MemRefType>(unwrap(source));
  Numbers known;
  for (std::optional<int64_t> offset : offsets)
    known.push_back(offset.value_or(mlir::ShapedType::kDynamic));
  unsigned dimension = 0;
  std::optional<mlir::MemRefType> result =
      tile::SliceOp::inferResultType(type, known, sizes, dimension);
  if (!result)
    throw nb::value_error(
        ("the region must end inside the mode that it begins in, got size " +
         std::to_string(sizes[dimension]) + " in dimension " +
         std::to_string(dimension))
            .c_str());
  return wrap(*result);
}

void tile::defineLayout(nb::module_ &m) {
  auto layoutClass = mlir_attribute_subclass(
      m, "LayoutAttr",
      [](MlirAttribute attribute) {
        return mlir::isa<LayoutAttr>(unwrap(attribute));
      },
      [] { return wrap(mlir::TypeID::get<LayoutAttr>()); });
  layoutClass.def_staticmethod(
      "get", &make, nb::arg("shape"), nb::arg("stride"),
      nb::arg("offset").none() = 0, nb::arg("swizzle").none() = nb::none(),
      nb::arg("context").none() = nb::none(),
      "Make a layout. An offset of None is known at run time only; `swizzle` "
      "is "
      "(bits, base, shift). Raises ValueError for what is no layout.");
  layoutClass.def_property_readonly(
      "shape",
      [](MlirAttribute self) {
        LayoutAttr attr = unwrapLayout(self);
        return nested(attr.getExtents(), attr.getModeCounts());
      },
      "Extents: a number for each dimension, a tuple for a nested one.");
  layoutClass.def_property_readonly(
      "stride",
      [](MlirAttribute self) {
        LayoutAttr attr = unwrapLayout(self);
        return nested(attr.getStrides(), attr.getModeCounts());
      },
      "Strides in elements, nested as `shape` is.");
  layoutClass.def_property_readonly(
      "offset", [](MlirAttribute self) { return offsetOf(unwrapLayout(self)); },
      "Offset in elements; None where it is known at run time only.");
  layoutClass.def_property_readonly(
      "swizzle",
      [](MlirAttribute self) { return swizzleOf(unwrapLayout(self)); },
      "(bits, base, shift), or None.");
  layoutClass.def_property_readonly(
      "size",
      [](MlirAttribute self) {
        return *layout::size(unwrapLayout(self).getLayout());
      },
      "Number of coordinates.");
  layoutClass.def_property_readonly(
      "cosize",
      [](MlirAttribute self) -> std::optional<int64_t> {
        LayoutAttr attr = unwrapLayout(self);
        if (attr.hasDynamicOffset())
          return std::nullopt;
        return layout::cosize(attr.getLayout());
      },
      "Elements that a buffer of this layout spans from its start; None where "
      "the offset is known at run time only.");
  layoutClass.def("__call__", &placeOf, nb::arg("coordinate"),
                  "Return the place of the element at a coordinate, in "
                  "elements from the buffer's start.");
  layoutClass.def(
      "coalesce",
      [](MlirAttribute self) {
        LayoutAttr attr = unwrapLayout(self);
        return wrapLike(attr, layout::coalesce(attr.getLayout()), "");
      },
      "Return the same mapping with the fewest modes in each dimension.");
  layoutClass.def(
      "compose",
      [](MlirAttribute self, MlirAttribute inner) {
        LayoutAttr attr = unwrapLayout(self);
        LayoutAttr other = mlir::dyn_cast<LayoutAttr>(unwrap(inner));
        if (!other || other.hasDynamicOffset())
          throw nb::value_error("inner must be a layout with a known offset");
        return wrapLike(attr,
                        layout::compose(attr.getLayout(), other.getLayout()),
                        "the composition is not a layout");
      },
      nb::arg("inner"),
      "Return the layout that maps a coordinate of `inner` to the place here "
      "of "
      "the element with that row-major index. Raises ValueError where that is "
      "no layout.");
  layoutClass.def(
      "divide",
      [](MlirAttribute self, Numbers tile) {
        LayoutAttr attr = unwrapLayout(self);
        return wrapLike(attr, layout::divide(attr.getLayout(), tile),
                        "the tile does not divide the layout");
      },
      nb::arg("tile"),
      "Cut each dimension into tiles of so many coordinates: dimensions that "
      "count tiles, then dimensions inside a tile. Raises ValueError where "
      "that "
      "is no layout.");
  // Defined anew: as an overload, it would stand behind the one that every
  // attribute has.
  m.attr("LayoutAttr").attr("__repr__") =
      nb::cpp_function(&reprOf, nb::name("__repr__"), nb::is_method());

  m.def("slice_type", &sliceType, nb::arg("source"), nb::arg("offsets"),
        nb::arg("sizes"),
        "Return the type of a region of a memref with a `#tile.layout`; an "
        "offset of None is known at run time only. The caller has checked that "
        "there is an offset and a size for each dimension, and that the region "
        "is inside. Raises ValueError where it is not a layout.");
  m.def(
      "is_workgroup_memory",
      [](MlirType type) {
        auto memref = mlir::dyn_cast<mlir::MemRefType>(unwrap(type));
        return memref && tile::isWorkgroupMemory(memref.getMemorySpace());
      },
      nb::arg("type"),
      "Return whether a memref type is in the shared memory of a CTA.");
  m.def(
      "element_bits",
      [](MlirType type) {
        std::optional<int64_t> bits = tile::elementBits(unwrap(type));
        if (!bits)
          throw nb::value_error("elements of this type have no packing");
        return *bits;
      },
      nb::arg("type"), "Bits that an element of this type takes in a buffer.");
}
