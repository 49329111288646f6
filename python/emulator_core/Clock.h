// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector clocks: what a thread knows of the others, in rows that each mean a
// weaker or stronger notion of "knows" (`order/clock.py` says which).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tile_emulator {

enum Row { SEEN, FENCED, CAUSED, VISIBLE, READ, ROWS };

// One column for each thread, one that stays zero, and one for each mbarrier or
// group of copies; columns that are not stored are zero. Nobody changes a clock
// once it is shared.
class Clock {
public:
  explicit Clock(int columns);

  const uint32_t *row(int number) const {
    return entries.data() + static_cast<int64_t>(number) * columns;
  }
  uint32_t *row(int number) {
    return entries.data() + static_cast<int64_t>(number) * columns;
  }
  // Lets it know what `other` knows, which has no more columns; only for a
  // clock that is not shared yet.
  void learn(const Clock &other);
  uint32_t get(int row_, int column) const {
    return column < columns ? row(row_)[column] : 0;
  }
  // Whether this clock knows all that `other` knows.
  bool covers(const Clock &other) const;
  // Whether it knows what `other` says was caused, but for two columns.
  bool knowsCausesOf(const Clock &other, int but, int butToo) const;

  const int columns;
  // No two clocks have the same one.
  const uint64_t serial;

private:
  std::vector<uint32_t> entries;
};

using ClockPtr = std::shared_ptr<Clock>;

// The clock that knows what both know: one of the two where it already does.
ClockPtr join(const ClockPtr &a, const ClockPtr &b);

// Rows are chosen by the bits `1 << SEEN`, `1 << FENCED`, ...

// What a clock says in the rows `rows`.
ClockPtr keep(const Clock &clock, uint32_t rows);
// A clock that says at least `epoch` of a column, too, in the rows `rows`.
ClockPtr add(const Clock &clock, int column, uint32_t rows, uint32_t epoch);
// A clock of which the async proxy knows all that is seen.
ClockPtr fence(const ClockPtr &clock);

} // namespace tile_emulator
