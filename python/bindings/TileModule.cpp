// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extension module `mlir_tile._tile`: what Python cannot say itself.
// Compiled with RTTI, which nanobind needs and MLIR lacks, so it derives from
// no MLIR class.
#include "dialect/TileDialect.h"
#include "lib/Facts/ValueFacts.h"
#include "lib/Plan/Banks.h"
#include "lib/Plan/Choose.h"
#include "lib/Plan/DeclaredVariant.h"
#include "lib/Transforms/CheckTypes.h"
#include "lib/Transforms/Target.h"
#include "python/bindings/KnownLaunch.h"
#include "python/bindings/LayoutAttr.h"
#include "python/bindings/NamedModule.h"
#include "python/bindings/ScriptedPass.h"
#include "python/bindings/Watch.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir::python::nanobind_adaptors;

template <typename T> static bool isA(MlirAttribute attribute) {
  return mlir::isa<T>(unwrap(attribute));
}

template <typename T> static MlirTypeID typeId() {
  return wrap(mlir::TypeID::get<T>());
}

template <typename T> static T as(MlirAttribute attribute) {
  return mlir::cast<T>(unwrap(attribute));
}

static std::vector<int64_t> list(llvm::ArrayRef<int64_t> values) {
  return {values.begin(), values.end()};
}

/// Parses a module, and looks at its types before upstream's verifiers do.
static std::optional<MlirModule> parse(MlirContext context, nb::bytes text,
                                       const std::string &name) {
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy({text.c_str(), text.size()}, name),
      llvm::SMLoc());
  mlir::ParserConfig config(unwrap(context), /*verifyAfterParse=*/false);
  auto module = tile::parseNamed(source, config);
  if (!module || failed(tile::checkElementCounts(*module)) ||
      failed(tile::checkChips(*module)) || failed(mlir::verify(*module)))
    return std::nullopt;
  return wrap(module.release());
}

static void defineCopyPlan(nb::module_ &m) {
  mlir_attribute_subclass(m, "CopySideAttr", isA<tile::CopySideAttr>,
                          typeId<tile::CopySideAttr>)
      .def_property_readonly(
          "start",
          [](MlirAttribute self) {
            return as<tile::CopySideAttr>(self).getStart();
          },
          "Bytes from the buffer's start to the first copy, as far as known.")
      .def_property_readonly(
          "steps",
          [](MlirAttribute self) {
            std::vector<std::optional<int64_t>> steps;
            for (int64_t step : as<tile::CopySideAttr>(self).getSteps())
              steps.push_back(mlir::ShapedType::isDynamic(step)
                                  ? std::nullopt
                                  : std::optional(step));
            return steps;
          },
          "Bytes between copies, for each loop; None where only the run time "
          "knows them.")
      .def_property_readonly(
          "strides",
          [](MlirAttribute self) {
            return list(as<tile::CopySideAttr>(self).getStrides());
          },
          "For each step of None a dimension of the memref, and the bytes by "
          "which its stride is multiplied.")
      .def_property_readonly(
          "swizzle",
          [](MlirAttribute self) {
            return list(as<tile::CopySideAttr>(self).getSwizzle());
          },
          "Bits, base and shift by which addresses are swizzled, in bits of "
          "bytes; empty if they are not.")
      .def_property_readonly(
          "gather",
          [](MlirAttribute self) {
            return list(as<tile::CopySideAttr>(self).getGather());
          },
          "Bytes of the parts that a copy is gathered from, and bytes from one "
          "to the next; then pairs of how many of these make a group and bytes "
          "to the next group. Empty where it is in one piece.");
  mlir_attribute_subclass(m, "CopyPlanAttr", isA<tile::CopyPlanAttr>,
                          typeId<tile::CopyPlanAttr>)
      .def_property_readonly(
          "variant",
          [](MlirAttribute self) {
            return as<tile::CopyPlanAttr>(self).getVariant().str();
          },
          "The variant that issues the copies.")
      .def_property_readonly(
          "chunk_bytes",
          [](MlirAttribute self) {
            return as<tile::CopyPlanAttr>(self).getChunk();
          },
          "Bytes of one copy.")
      .def_property_readonly(
          "count",
          [](MlirAttribute self) {
            return as<tile::CopyPlanAttr>(self).getCount();
          },
          "How many copies; 0 for a tile of no elements.")
      .def_property_readonly(
          "total_bytes",
          [](MlirAttribute self) {
            return as<tile::CopyPlanAttr>(self).getTotalBytes();
          },
          "Bytes of all copies together.")
      .def_property_readonly(
          "loops",
          [](MlirAttribute self) {
            return list(as<tile::CopyPlanAttr>(self).getLoops());
          },
          "Extents of the loops over the copies, the outermost first.")
      .def_property_readonly(
          "src",
          [](MlirAttribute self) -> MlirAttribute {
            return wrap(as<tile::CopyPlanAttr>(self).getSrc());
          },
          "Where the copies begin in the source, a CopySideAttr.")
      .def_property_readonly(
          "dst",
          [](MlirAttribute self) -> MlirAttribute {
            return wrap(as<tile::CopyPlanAttr>(self).getDst());
          },
          "Where the copies begin in the destination, a CopySideAttr.")
      .def_property_readonly(
          "part_offsets",
          [](MlirAttribute self) {
            return list(as<tile::CopyPlanAttr>(self).getPartOffsets());
          },
          "Bytes from where a copy begins in the source to each of its parts.")
      .def_property_readonly(
          "threads",
          [](MlirAttribute self) {
            return as<tile::CopyPlanAttr>(self).getThreads();
          },
          "Threads that issue the copies; 0 where it is the one that executes "
          "the op.")
      .def_property_readonly(
          "cycles",
          [](MlirAttribute self) {
            return as<tile::CopyPlanAttr>(self).getCycles();
          },
          "The estimate by which the variant was chosen, in clock cycles; 0 "
          "without a choice.");
}

static void defineVariants(nb::module_ &m) {
  nb::class_<tile::VariantTraits>(m, "VariantTraits",
                                  "What a variant of the copy is.")
      .def(
          "__init__",
          [](tile::VariantTraits *self, std::string name, bool isCooperative,
             bool usesAsyncProxy, bool threadsLoad, int minPtx) {
            new (self) tile::VariantTraits;
            self->name = std::move(name);
            self->isCooperative = isCooperative;
            self->usesAsyncProxy = usesAsyncProxy;
            self->threadsLoad = threadsLoad;
            self->minPtx = minPtx;
          },
          nb::arg("name"), nb::arg("is_cooperative"),
          nb::arg("uses_async_proxy"), nb::arg("threads_load"),
          nb::arg("min_ptx"))
      .def_ro("name", &tile::VariantTraits::name)
      .def_ro("is_cooperative", &tile::VariantTraits::isCooperative,
              "Whether all threads that execute the op share its copies.")
      .def_ro("uses_async_proxy", &tile::VariantTraits::usesAsyncProxy)
      .def_ro("threads_load", &tile::VariantTraits::threadsLoad,
              "Whether threads load what is copied.")
      .def_ro("min_ptx", &tile::VariantTraits::minPtx,
              "The PTX version, times ten, that has its instructions.");
}

/// One side as it was traced, with as much of its offset as is known, and with
/// strides that leave no gaps where only the run time knows them; None where
/// that is no layout, as without elements.
static nb::object layoutOf(const std::optional<tile::TracedTile> &traced) {
  if (!traced)
    return nb::none();
  tile::layout::Layout layout = traced->layout;
  for (const tile::RuntimeStride &stride :
       llvm::reverse(traced->runtimeStrides))
    if (std::optional<tile::layout::Range> range = tile::layout::reach(layout))
      layout.dimensions[stride.dimension].front().stride =
          range->highest - range->lowest + 1;
  layout.offset = traced->offset.known;
  mlir::MLIRContext *context = traced->elementType.getContext();
  mlir::ScopedDiagnosticHandler ignored(
      context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto attr = tile::LayoutAttr::getChecked(
      [&] { return mlir::emitError(mlir::UnknownLoc::get(context)); }, context,
      layout, /*dynamicOffset=*/false);
  return attr ? nb::cast(wrap(mlir::Attribute(attr))) : nb::none();
}

static std::vector<std::pair<std::string, tile::Refusal>>
refusalsOf(const tile::Answer &answer) {
  std::vector<std::pair<std::string, tile::Refusal>> refusals;
  if (answer.refusal)
    refusals.emplace_back("", *answer.refusal);
  for (const tile::Considered &one : answer.considered)
    if (const tile::Refusal *refusal = one.refusal())
      refusals.emplace_back(one.variant.name, *refusal);
  return refusals;
}

static void definePlanCopy(nb::module_ &m) {
  nb::class_<tile::Refusal>(m, "Refusal", "Why a copy cannot be made.")
      .def_ro("rule", &tile::Refusal::rule,
              "What is asked for, and what there is.")
      .def_ro("fix", &tile::Refusal::fix, "What to do; may be empty.")
      .def_ro("side", &tile::Refusal::side,
              "source, destination, or empty where both break it.")
      .def_ro("asked_bits", &tile::Refusal::askedBits,
              "What must divide an amount, 0 where none is wrong.")
      .def_ro("got_bits", &tile::Refusal::gotBits, "That amount.")
      .def_prop_ro(
          "coordinates",
          [](const tile::Refusal &self) {
            nb::list found;
            for (const auto &coordinate : self.coordinates)
              found.append(nb::tuple(nb::cast(list(coordinate))));
            return found;
          },
          "Coordinates in the tile that show it.");
  nb::class_<tile::Message>(m, "Message", "A diagnostic without its place.")
      .def_ro("text", &tile::Message::text)
      .def_ro("notes", &tile::Message::notes);
  nb::class_<tile::Answer>(m, "Answer", "What the analysis says of a copy.")
      .def_prop_ro(
          "src", [](const tile::Answer &self) { return layoutOf(self.src); },
          nb::for_getter(nb::sig("def src(self) -> LayoutAttr | None")),
          "The source as it was traced.")
      .def_prop_ro(
          "dst", [](const tile::Answer &self) { return layoutOf(self.dst); },
          nb::for_getter(nb::sig("def dst(self) -> LayoutAttr | None")),
          "The destination as it was traced.")
      .def_prop_ro(
          "plan",
          [](const tile::Answer &self) -> std::optional<MlirAttribute> {
            if (!self.chosen)
              return std::nullopt;
            return wrap(mlir::Attribute(
                self.planAttr(self.src->elementType.getContext())));
          },
          "The CopyPlanAttr, or None where the copy was refused.")
      .def_prop_ro("refusals", &refusalsOf,
                   "(variant, Refusal) for each variant that cannot copy the "
                   "tile; the variant is empty where none was asked.")
      .def_prop_ro(
          "message", [](const tile::Answer &self) { return self.message(); },
          "The remark on the plan, or the error.");
  m.def(
      "plan_copy",
      [](MlirOperation operation) {
        auto op = mlir::dyn_cast<tile::CopyAsyncOp>(unwrap(operation));
        if (!op)
          throw nb::value_error("op must be a tile.copy_async");
        mlir::Operation *root = op;
        while (mlir::Operation *parent = root->getParentOp())
          root = parent;
        return tile::planCopy(
            op, tile::sizesForCopies(tile::deviceCodeAround(op), root), root);
      },
      nb::arg("op"),
      "Ask the analysis how a tile.copy_async is cut into hardware copies, or "
      "why it cannot be. Changes nothing.");
}

static void defineIssue(nb::module_ &m) {
  mlir_attribute_subclass(m, "IssueAttr", isA<tile::IssueAttr>,
                          typeId<tile::IssueAttr>)
      .def_property_readonly(
          "value",
          [](MlirAttribute self) {
            return tile::stringifyIssue(as<tile::IssueAttr>(self).getValue())
                .str();
          },
          "Who executes the op: thread, warp or cta.");
}

static void defineCacheHint(nb::module_ &m) {
  mlir_attribute_subclass(m, "CacheHintAttr", isA<tile::CacheHintAttr>,
                          typeId<tile::CacheHintAttr>)
      .def_property_readonly(
          "value",
          [](MlirAttribute self) {
            return tile::stringifyCacheHint(
                       as<tile::CacheHintAttr>(self).getValue())
                .str();
          },
          "What the L2 cache evicts: evict_first, evict_last or evict_normal.");
}

static void defineScope(nb::module_ &m) {
  mlir_attribute_subclass(m, "ScopeAttr", isA<tile::ScopeAttr>,
                          typeId<tile::ScopeAttr>)
      .def_property_readonly(
          "value",
          [](MlirAttribute self) {
            return tile::stringifyScope(as<tile::ScopeAttr>(self).getValue())
                .str();
          },
          "Whose ordinary accesses are ordered: cta or cluster.");
}

static void defineReductionKind(nb::module_ &m) {
  mlir_attribute_subclass(m, "ReductionKindAttr", isA<tile::ReductionKindAttr>,
                          typeId<tile::ReductionKindAttr>)
      .def_property_readonly(
          "value",
          [](MlirAttribute self) {
            return tile::stringifyReductionKind(
                       as<tile::ReductionKindAttr>(self).getValue())
                .str();
          },
          "What is made of two values: add, minsi, maxnumf and so on.");
}

static void defineTargets(nb::module_ &m) {
  m.def(
      "fault_of_target",
      [](std::string chip, std::string features)
          -> std::optional<std::pair<std::string, std::string>> {
        if (auto fault = tile::faultOfTarget(chip, features))
          return std::make_pair(fault->what, fault->fix);
        return std::nullopt;
      },
      nb::arg("chip"), nb::arg("features"),
      "Return what is wrong with a target, as `targets ...`, and how to mend "
      "it; None if nothing is.");
  m.def(
      "first_ptx",
      [] {
        nb::dict found;
        for (auto [chip, version] : tile::getFirstPtx())
          found[nb::str(chip.data(), chip.size())] = version;
        return found;
      },
      "Return the first PTX version, times ten, of each chip.");
  m.def(
      "ptx_versions",
      [] {
        llvm::ArrayRef<int> known = tile::getPtxVersions();
        return std::vector<int>(known.begin(), known.end());
      },
      "Return the PTX versions, times ten, that LLVM writes.");
  m.def(
      "ptx_versions_of",
      [](MlirOperation module) {
        std::vector<int> found;
        unwrap(module)->walk([&](mlir::gpu::GPUModuleOp each) {
          if (mlir::ArrayAttr targets = each.getTargetsAttr())
            for (mlir::Attribute target : targets)
              if (auto nvvm =
                      mlir::dyn_cast<mlir::NVVM::NVVMTargetAttr>(target))
                found.push_back(tile::getPtxTarget(nvvm).version);
        });
        return found;
      },
      nb::arg("module"),
      "Return the PTX versions, times ten, of the targets that the gpu.modules "
      "of a module carry.");
}

/// MLIR's adaptors give their classes no docstring.
static void describe(nb::module_ &m, const char *name, const char *text) {
  m.attr(name).attr("__doc__") = text;
}

NB_MODULE(_tile, m) {
  m.doc() = "The compiled part of mlir_tile";
  // Kernels may live as long as the process.
  nb::set_leak_warnings(false);
  defineCopyPlan(m);
  describe(m, "CopySideAttr",
           "Where the copies of a plan begin on one side, in bytes.");
  tile::registerVariants();
  defineVariants(m);
  definePlanCopy(m);
  describe(m, "CopyPlanAttr",
           "How a tile is cut into hardware copies, in bytes: what "
           "tile-analyze-layout found and proved for one tile.copy_async.");
  defineIssue(m);
  describe(m, "IssueAttr", "Who executes a tile.copy_async.");
  defineCacheHint(m);
  describe(m, "CacheHintAttr",
           "What the L2 cache evicts sooner or later of a copy.");
  tile::defineLayout(m);
  describe(m, "LayoutAttr",
           "Where the elements of a memref lie: nested modes and a swizzle, in "
           "elements. Calling it with a coordinate gives the element's place.");
  defineReductionKind(m);
  describe(m, "ReductionKindAttr",
           "What a tile.all_reduce, or a tile.store_async that reduces, makes "
           "of two values.");
  defineScope(m);
  describe(m, "ScopeAttr",
           "Whose ordinary accesses a tile.arrive or tile.wait orders.");
  tile::defineKnownLaunch(m);
  defineTargets(m);
  tile::registerPasses();

  m.def(
      "load_cycles",
      [](std::vector<int64_t> places, int64_t bytes) {
        if (bytes < 1)
          throw nb::value_error("bytes must be positive");
        return list(tile::loadCycles(places, bytes));
      },
      nb::arg("places"), nb::arg("bytes"),
      "Clock cycles in which the banks of shared memory give so many bytes at "
      "each "
      "of the places (in bytes), which neighbouring lanes of a warp load at "
      "once: a number for each group of lanes that is served together.");
  m.def(
      "swizzled",
      [](int64_t offset, const std::vector<int64_t> &swizzle) {
        if (swizzle.empty())
          return offset;
        if (swizzle.size() != 3)
          throw nb::value_error("swizzle must be bits, base and shift");
        return tile::layout::Swizzle{swizzle[0], swizzle[1], swizzle[2]}.apply(
            offset);
      },
      nb::arg("offset"), nb::arg("swizzle"),
      "Return an offset as a swizzle, (bits, base, shift) or empty, moves it.");
  m.def("register_dialects", &tile::registerDialects, nb::arg("registry"),
        "Add the tile dialect to a dialect registry.");
  m.def(
      "parse", &parse, nb::arg("context"), nb::arg("text"), nb::arg("name"),
      "Return the module in `text`, MLIR or bytecode, or None after a "
      "diagnostic, which calls the text `name`. Locations keep the names that "
      "buffers and barriers have in the text.");
  m.def(
      "barrier_count",
      [](MlirType type) -> std::optional<unsigned> {
        auto group =
            mlir::dyn_cast<mlir::nvgpu::MBarrierGroupType>(unwrap(type));
        if (!group)
          return std::nullopt;
        return group.getNumBarriers();
      },
      nb::arg("type"),
      "Return how many barriers an nvgpu.mbarrier.group type has, or None for "
      "another type.");
  m.def("is_registered", &tile::isRegistered, nb::arg("argument"),
        "Whether MLIR's registry has a pass or pipeline of this name.");
  m.def("emit_error", &tile::emitError, nb::arg("op"), nb::arg("message"),
        nb::arg("note"),
        "Emit an error at an operation; an empty note is left out.");
  m.def("register_pass", &tile::registerScriptedPass, nb::arg("argument"),
        nb::arg("description"), nb::arg("run"), nb::arg("changes_nothing"),
        "Register a pass on the outermost module by name. `run` takes the "
        "operation and returns whether it succeeded; it must not raise.");
  m.def(
      "first_unlowered",
      [](MlirOperation root) -> std::optional<MlirOperation> {
        MlirOperation found = tile::firstUnlowered(root);
        if (mlirOperationIsNull(found))
          return std::nullopt;
        return found;
      },
      nb::arg("root"),
      "Return the first tile op under an operation that no pass after the "
      "legalization rewrites, or None.");
  m.def(
      "register_pipeline",
      [](std::string argument, std::string description,
         std::vector<std::tuple<std::string, std::string, std::string>> options,
         std::function<std::pair<bool, std::string>(std::vector<std::string>)>
             build) {
        std::vector<tile::ScriptedOption> declared;
        for (auto &[name, text, value] : options)
          declared.push_back({name, text, value});
        tile::registerScriptedPipeline(std::move(argument),
                                       std::move(description),
                                       std::move(declared), std::move(build));
      },
      nb::arg("argument"), nb::arg("description"), nb::arg("options"),
      nb::arg("build"),
      "Register a pipeline by name. `options` are (name, description, "
      "default); "
      "`build` takes their values and returns (True, pipeline text) or (False, "
      "error).");
  m.def(
      "opt_main",
      [](std::vector<std::string> arguments) {
        nb::gil_scoped_release released;
        return tile::optMain(std::move(arguments));
      },
      nb::arg("arguments"),
      "Run mlir-opt with the tile dialect; returns the exit status.");
  m.def(
      "lsp_server_main",
      [](std::vector<std::string> arguments) {
        nb::gil_scoped_release released;
        return tile::lspServerMain(std::move(arguments));
      },
      nb::arg("arguments"),
      "Run mlir-lsp-server with the tile dialect on stdin and stdout until the "
      "client ends it; returns the exit status.");
  m.attr("WATCH_PASS_BYTES") = sizeof(tile::WatchRecord::pass);
  m.attr("WATCH_BYTES") = sizeof(tile::WatchRecord);
  m.def(
      "watch",
      [](MlirContext context, nb::object record) {
        // Never released: the context may write to it until the process ends.
        auto *view = new Py_buffer;
        if (PyObject_GetBuffer(record.ptr(), view, PyBUF_WRITABLE))
          throw nb::python_error();
        if (view->len != sizeof(tile::WatchRecord))
          throw nb::value_error("record must have WATCH_BYTES bytes");
        tile::watch(context, *static_cast<tile::WatchRecord *>(view->buf));
      },
      nb::arg("context"), nb::arg("record"),
      "Keep in `record`, memory of WATCH_BYTES bytes that another process may "
      "read, which pass runs in a context of one thread, and in the rest of it "
      "the place of the op that it works on; both end with a zero.");
  m.def(
      "value_facts",
      [](MlirValue value) {
        using Bounds = std::optional<std::pair<int64_t, int64_t>>;
        tile::Congruence rest = tile::congruenceOf(unwrap(value));
        Bounds bounds;
        if (auto range = tile::rangeOf(unwrap(value)))
          bounds.emplace(range->lowest, range->highest);
        return std::make_tuple(tile::divisorOf(unwrap(value)), bounds,
                               std::make_pair(rest.modulus, rest.residue));
      },
      nb::arg("value"),
      "Return what the analysis proves of an integer or index, read with a "
      "sign: a number that divides it (0: it is 0), the lowest and the highest "
      "that it can be, or None, and (modulus, residue) of a power of two.");
  m.def("variant_names", &tile::getVariantNames,
        "Return the names that a copy's `variant` may have, in the order in "
        "which they were registered.");
  m.def(
      "variant_traits",
      [](const std::string &name) -> std::optional<tile::VariantTraits> {
        return tile::findVariant(name);
      },
      nb::arg("name"), "Return what a variant is, or None without one.");
  m.def(
      "declare_variant",
      [](tile::VariantTraits traits, int64_t granuleBytes, int64_t maxBytes,
         std::optional<std::tuple<double, double, double>> cost) {
        tile::VariantDeclaration declaration{std::move(traits), granuleBytes,
                                             maxBytes, std::nullopt};
        if (cost)
          declaration.cost = {std::get<0>(*cost), std::get<1>(*cost),
                              std::get<2>(*cost)};
        tile::declareVariant(declaration);
      },
      nb::arg("traits"), nb::arg("granule_bytes"), nb::arg("max_bytes"),
      nb::arg("cost").none(),
      "Make a variant known to the verifier and the analysis; "
      "`mlir_tile.register_variant` checks what it is given and calls this. "
      "`max_bytes` is 0 for no limit, `cost` is (base, per copy, per byte) in "
      "clock cycles.");
}
