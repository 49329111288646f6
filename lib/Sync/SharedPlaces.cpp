// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/SharedPlaces.h"
#include "lib/Facts/ValueFacts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tile;

const Origins &SharedPlaces::originsOf(Value value) {
  auto [place, isNew] = found.try_emplace(value);
  if (isNew)
    place->second = tile::originsOf(value);
  return place->second;
}

const void *SharedPlaces::keyOf(Value declaration) {
  static const char dynamic = 0;
  Operation *op = declaration.getDefiningOp();
  if (op && isa<gpu::DynamicSharedMemoryOp>(op))
    return &dynamic;
  if (auto global = dyn_cast_or_null<memref::GetGlobalOp>(op))
    return global.getNameAttr().getAttr().getAsOpaquePointer();
  return declaration.getAsOpaquePointer();
}

void SharedPlaces::add(const Origins &origins) {
  for (Value known : origins.known)
    numbers.try_emplace(keyOf(known), numbers.size());
}

std::optional<unsigned> SharedPlaces::numberOf(Value declaration) const {
  auto number = numbers.find(keyOf(declaration));
  if (number == numbers.end())
    return std::nullopt;
  return number->second;
}

llvm::BitVector SharedPlaces::named(const Origins &origins) const {
  llvm::BitVector result(size());
  for (Value known : origins.known)
    if (std::optional<unsigned> number = numberOf(known))
      result.set(*number);
  if (origins.hasUnknown)
    result.set(numbers.size());
  return result;
}

llvm::BitVector SharedPlaces::touched(const Origins &origins) const {
  llvm::BitVector result = named(origins);
  if (origins.hasUnknown)
    result.set();
  else if (!origins.empty())
    result.set(numbers.size());
  return result;
}

BarrierPlaces tile::barrierPlaces(const Meeting &meeting,
                                  SharedPlaces &groups) {
  BarrierPlaces places;
  if (!meeting.barriers) {
    places.hasUnknown = true;
    return places;
  }
  const Origins &origins = groups.originsOf(meeting.barriers);
  places.hasUnknown = origins.hasUnknown || origins.empty();
  for (Value known : origins.known)
    if (std::optional<unsigned> number = groups.numberOf(known))
      places.groups.push_back(*number);
  if (meeting.index)
    places.index = constantOf(meeting.index);
  return places;
}
