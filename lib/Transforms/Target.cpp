// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

static constexpr int kOldestChip = 90;
static constexpr int kOldestPtx = 80;
/// With `st.async`: what a fix names where no chip asks for more.
static constexpr int kUsualPtx = 81;
static constexpr llvm::StringLiteral kUsualChip = "sm_90";

// What LLVM 22 compiles, found by trying every pair; its own table is not in
// the wheels. An unknown version is a warning there, and the chip's first one
// is taken. "f" is a family of chips, "a" one chip only.
static constexpr std::pair<llvm::StringLiteral, int> kFirstPtx[] = {
    {"sm_90", 80},   {"sm_90a", 80},  {"sm_100", 86},  {"sm_100a", 86},
    {"sm_100f", 88}, {"sm_101", 86},  {"sm_101a", 86}, {"sm_101f", 88},
    {"sm_103", 88},  {"sm_103a", 88}, {"sm_103f", 88}, {"sm_110", 90},
    {"sm_110a", 90}, {"sm_110f", 90}, {"sm_120", 87},  {"sm_120a", 87},
    {"sm_120f", 88}, {"sm_121", 88},  {"sm_121a", 88}, {"sm_121f", 88}};

static constexpr int kPtxVersions[] = {80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

llvm::ArrayRef<std::pair<llvm::StringLiteral, int>> tile::getFirstPtx() {
  return kFirstPtx;
}

llvm::ArrayRef<int> tile::getPtxVersions() { return kPtxVersions; }

std::string tile::dotted(int version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

/// 0 for a chip that is not known.
static int firstPtx(StringRef chip) {
  for (auto [name, version] : kFirstPtx)
    if (name == chip)
      return version;
  return 0;
}

/// The digits of `+ptx81`, if the text is that.
static std::optional<int> versionOf(StringRef features) {
  int version = 0;
  if (!features.consume_front("+ptx") || features.empty() ||
      !llvm::all_of(features, llvm::isDigit) ||
      features.getAsInteger(10, version))
    return std::nullopt;
  return version;
}

std::optional<tile::TargetFault> tile::faultOfTarget(StringRef chip,
                                                     StringRef features) {
  using Fault = TargetFault;
  StringRef rest = chip;
  int number = 0;
  if (!rest.consume_front("sm_") || rest.consumeInteger(10, number) ||
      rest.size() > 1 || (rest.size() == 1 && !llvm::isLower(rest[0])))
    return Fault{
        ("targets '" + chip + "', which is not of the form sm_90").str(),
        ("set chip to " + kUsualChip).str()};
  if (number < kOldestChip)
    return Fault{("targets " + chip +
                  ", which has no clusters; "
                  "tile.copy_async needs sm_" +
                  Twine(kOldestChip))
                     .str(),
                 ("set chip to " + kUsualChip).str()};
  int first = firstPtx(chip);
  if (!first)
    return Fault{("targets " + chip + ", which LLVM does not know").str(),
                 "set chip to one of " +
                     llvm::join(llvm::make_first_range(kFirstPtx), ", ")};
  std::optional<int> version = versionOf(features);
  auto useVersion = [](int version) {
    return "set features to +ptx" + std::to_string(version);
  };
  if (!version)
    return Fault{
        ("targets features '" + features + "', which are not one PTX version")
            .str(),
        useVersion(std::max(first, kUsualPtx))};
  if (*version < kOldestPtx)
    return Fault{"targets PTX " + dotted(*version) +
                     "; tile.copy_async needs " + dotted(kOldestPtx),
                 useVersion(std::max(first, kOldestPtx))};
  if (*version < first)
    return Fault{"targets PTX " + dotted(*version) + "; " + chip.str() +
                     " needs " + dotted(first),
                 useVersion(first)};
  if (!llvm::is_contained(kPtxVersions, *version)) {
    std::vector<std::string> known;
    for (int each : kPtxVersions)
      known.push_back(dotted(each));
    return Fault{"targets PTX " + dotted(*version) +
                     ", which LLVM does not know; it knows " +
                     llvm::join(known, ", "),
                 useVersion(kPtxVersions[std::size(kPtxVersions) - 1])};
  }
  return std::nullopt;
}

/// What LLVM takes where an attribute names no version.
static std::string featuresOf(NVVM::NVVMTargetAttr target) {
  if (!target.getFeatures().empty())
    return target.getFeatures().str();
  // The chip is older than its clusters.
  if (target.getChip().starts_with("sm_90"))
    return "+ptx78";
  return "+ptx" + std::to_string(firstPtx(target.getChip()));
}

std::optional<tile::TargetFault> tile::faultOfTarget(Attribute target) {
  auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target);
  if (!nvvm) {
    std::string text;
    llvm::raw_string_ostream(text) << target;
    return TargetFault{"targets " + text + ", which is not NVVM",
                       "use #nvvm.target, or drop the target"};
  }
  if (nvvm.getTriple() != "nvptx64-nvidia-cuda")
    return TargetFault{("targets the triple '" + nvvm.getTriple() +
                        "'; kernels are compiled for nvptx64-nvidia-cuda")
                           .str(),
                       "drop the triple"};
  return faultOfTarget(nvvm.getChip(), featuresOf(nvvm));
}

/// Upstream drops as many letters as `sm_` has before it reads a number.
static constexpr size_t kShortestChip = 3;

LogicalResult tile::checkChips(Operation *root) {
  WalkResult result = root->walk([](gpu::GPUModuleOp module) -> WalkResult {
    for (Attribute each : module.getTargetsAttr()
                              ? module.getTargetsAttr().getValue()
                              : ArrayRef<Attribute>())
      if (auto target = dyn_cast<NVVM::NVVMTargetAttr>(each);
          target && target.getChip().size() < kShortestChip) {
        std::optional<TargetFault> fault = faultOfTarget(each);
        InFlightDiagnostic error = module.emitError("gpu.module '")
                                   << module.getName() << "' " << fault->what;
        error.attachNote() << fault->fix;
        return error;
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

tile::PtxTarget tile::getPtxTarget(NVVM::NVVMTargetAttr target) {
  return {target.getChip(), versionOf(featuresOf(target)).value_or(0)};
}
