// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Clock.h"

#include <algorithm>
#include <atomic>

namespace tile_emulator {
namespace {

uint64_t nextSerial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

} // namespace

Clock::Clock(int columns)
    : columns(columns), serial(nextSerial()),
      entries(static_cast<size_t>(columns) * ROWS) {}

void Clock::learn(const Clock &other) {
  for (int number = 0; number < ROWS; ++number) {
    uint32_t *mine = row(number);
    const uint32_t *theirs = other.row(number);
    for (int column = 0; column < other.columns; ++column)
      mine[column] = std::max(mine[column], theirs[column]);
  }
}

bool Clock::covers(const Clock &other) const {
  int both = std::min(columns, other.columns);
  for (int number = 0; number < ROWS; ++number) {
    const uint32_t *mine = row(number), *theirs = other.row(number);
    bool less = false;
    for (int column = 0; column < both; ++column)
      less |= mine[column] < theirs[column];
    for (int column = both; column < other.columns; ++column)
      less |= theirs[column] != 0;
    if (less)
      return false;
  }
  return true;
}

bool Clock::knowsCausesOf(const Clock &other, int but, int butToo) const {
  const uint32_t *theirs = other.row(CAUSED);
  for (int column = 0; column < other.columns; ++column)
    if (theirs[column] > get(CAUSED, column) && column != but &&
        column != butToo)
      return false;
  return true;
}

ClockPtr keep(const Clock &clock, uint32_t rows) {
  auto result = std::make_shared<Clock>(clock.columns);
  for (int number = 0; number < ROWS; ++number)
    if (rows >> number & 1)
      std::copy_n(clock.row(number), clock.columns, result->row(number));
  return result;
}

ClockPtr add(const Clock &clock, int column, uint32_t rows, uint32_t epoch) {
  auto result = std::make_shared<Clock>(std::max(clock.columns, column + 1));
  for (int number = 0; number < ROWS; ++number) {
    uint32_t *row = result->row(number);
    std::copy_n(clock.row(number), clock.columns, row);
    if (rows >> number & 1)
      row[column] = std::max(row[column], epoch);
  }
  return result;
}

ClockPtr fence(const ClockPtr &clock) {
  const uint32_t *seen = clock->row(SEEN), *fenced = clock->row(FENCED);
  bool all = true;
  for (int column = 0; column < clock->columns; ++column)
    all &= seen[column] <= fenced[column];
  if (all)
    return clock;
  ClockPtr result = keep(*clock, (1 << ROWS) - 1);
  uint32_t *row = result->row(FENCED);
  for (int column = 0; column < clock->columns; ++column)
    row[column] = std::max(row[column], seen[column]);
  return result;
}

ClockPtr join(const ClockPtr &a, const ClockPtr &b) {
  if (a == b || a->covers(*b))
    return a;
  if (b->covers(*a))
    return b;
  auto result = std::make_shared<Clock>(std::max(a->columns, b->columns));
  result->learn(*a);
  result->learn(*b);
  return result;
}

} // namespace tile_emulator
