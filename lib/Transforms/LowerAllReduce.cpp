// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduction over a cluster in three steps: shuffles in each warp; the values
// of the warps in shared memory after one CTA barrier; and the block's value to
// each CTA by st.async, from one warp.
//
// Two sets of buffers and mbarriers take turns, round by round, and nothing
// else synchronises. Who sends round k + 2 has seen every CTA's values of round
// k + 1, which each CTA sent after all of its warps had read those of round k.
#include "lib/Transforms/Passes.h"

#include "dialect/TileDialect.h"
#include "lib/Facts/ClusterUniformity.h"
#include "lib/Facts/KernelSizes.h"
#include "lib/Facts/ValueFacts.h"
#include "lib/Sync/SyncOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace tile {
#define GEN_PASS_DEF_TILELOWERALLREDUCE
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

using Values = SmallVector<Value>;

static constexpr int64_t kMaxThreads = 1024;
/// Words that a thread loads where one warp does so, and where all do: beyond
/// this, lanes take some of the rows each, and shuffle what they make of them.
static constexpr int64_t kMaxWordsOfOneWarp = 32;
static constexpr int64_t kMaxWordsOfAllWarps = 8;
/// Operations that a thread applies to the rows it has loaded.
static constexpr int64_t kMaxOperations = 32;
/// How long the hardware may suspend a thread for one try to wait.
static constexpr int64_t kSuspendNs = 10'000'000;

/// Words of 32 bits in which a value travels.
static int64_t wordsOf(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 32);
}

static int64_t wordsOf(AllReduceOp op) {
  int64_t words = 0;
  for (Type type : op.getValues().getTypes())
    words += wordsOf(type);
  return words;
}

/// Words from one row of values to the next: a row is sent by stores of 4, 8
/// or 16 bytes.
static int64_t rowWords(int64_t words) {
  return words <= 2 ? words : llvm::alignTo(words, 4);
}

/// Operations that combine two rows.
static int64_t operationsOf(AllReduceOp op) {
  if (op.getKind())
    return 1;
  return llvm::range_size(op.getCombination().front().without_terminator());
}

static LogicalResult checkUniform(AllReduceOp op,
                                  ClusterUniformity &uniformity) {
  auto divergence = uniformity.divergenceAround(op);
  if (!divergence)
    return success();
  InFlightDiagnostic diag = op.emitOpError(
      "must be executed by all threads of the cluster, got a branch or a loop "
      "around it that depends on the thread or the CTA");
  diag.attachNote(divergence->branch->getLoc())
      << "'" << divergence->branch->getName() << "' decides here";
  diag.attachNote(divergence->source->getLoc())
      << "'" << divergence->source->getName()
      << "' tells threads or CTAs apart: let all execute the op, and choose "
         "among values with arith.select";
  return diag;
}

static LogicalResult checkCaptured(AllReduceOp op,
                                   ClusterUniformity &uniformity) {
  WalkResult result = op.getCombination().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (op.getCombination().isAncestor(operand.getParentRegion()))
        continue;
      Operation *source = uniformity.sourceOf(operand);
      if (!source)
        continue;
      InFlightDiagnostic diag = op.emitOpError(
          "region must combine in the same way in all threads, got a value "
          "from outside that depends on the thread or the CTA");
      diag.attachNote(source->getLoc()) << "'" << source->getName()
                                        << "' tells threads or CTAs apart: "
                                           "pass the value as an operand";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The kernel that `op` is in, if it can be lowered there; null after an error.
static gpu::GPUFuncOp kernelOf(AllReduceOp op) {
  Operation *around = op->getParentOp();
  while (around && !isa<FunctionOpInterface, gpu::LaunchOp>(around))
    around = around->getParentOp();
  auto func = dyn_cast_or_null<gpu::GPUFuncOp>(around);
  if (func && func.isKernel())
    return func;
  InFlightDiagnostic diag = op.emitOpError();
  if (isa_and_nonnull<gpu::LaunchOp>(around)) {
    diag << "must be in a gpu.func, got a gpu.launch";
    diag.attachNote() << "run gpu-kernel-outlining first";
  } else if (func || (around && around->getParentOfType<gpu::GPUModuleOp>())) {
    diag << "must be in a kernel itself, got a function that kernels call";
    diag.attachNote() << "write its body into the kernel";
  } else {
    diag << "must be in device code, got a host function";
    diag.attachNote() << "move it into a gpu.func";
  }
  return {};
}

/// Threads of a block; nothing after an error.
static std::optional<std::array<int64_t, 3>> blockOf(AllReduceOp op,
                                                     gpu::GPUFuncOp kernel) {
  auto block = promisedSizes(kernel).block;
  std::optional<int64_t> threads =
      block ? layout::product(*block) : std::nullopt;
  if (threads && *threads % kWarpSize == 0 && *threads >= 1 &&
      *threads <= kMaxThreads)
    return block;
  InFlightDiagnostic diag =
      op.emitOpError("must be in a block whose size is known to be a multiple "
                     "of 32 of at most 1024, got ");
  if (threads)
    diag << *threads << " threads";
  else
    diag << "a size that is not known";
  diag.attachNote() << "give the gpu.func known_block_size = array<i32: x, y, "
                       "z> with x * y * z a multiple of 32";
  return std::nullopt;
}

namespace {

/// Builds ops at one place; numbers are i32.
struct WordBuilder : ImplicitLocOpBuilder {
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value i32(int64_t number) {
    return arith::ConstantOp::create(*this, getI32IntegerAttr(number));
  }
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(*this, number);
  }
  Value toIndex(Value number) {
    return arith::IndexCastUIOp::create(*this, getIndexType(), number);
  }
  Value toI32(Value number) {
    return arith::IndexCastUIOp::create(*this, getI32Type(), number);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value times(Value a, int64_t factor) {
    return factor == 1 ? a : arith::MulIOp::create(*this, a, i32(factor));
  }
  Value bits(Value a, int64_t mask) {
    return arith::AndIOp::create(*this, a, i32(mask));
  }
  Value shifted(Value a, int64_t places) {
    return arith::ShRUIOp::create(*this, a, i32(places));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(*this, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(*this, condition, a, b);
  }
  void ifTrue(Value condition, llvm::function_ref<void()> build) {
    auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    build();
  }

  /// Values as words, and back.
  Values toWords(ValueRange values);
  Values fromWords(ValueRange words, TypeRange types);
  Value shuffle(NVVM::ShflKind kind, Value word, int64_t by) {
    return NVVM::ShflOp::create(*this, getI32Type(), i32(-1), word, i32(by),
                                i32(kWarpSize - 1), kind, UnitAttr());
  }
};

Values WordBuilder::toWords(ValueRange values) {
  Values words;
  for (Value value : values) {
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (isa<FloatType>(value.getType()))
      value = arith::BitcastOp::create(*this, getIntegerType(width), value);
    if (width == 16)
      value = arith::ExtUIOp::create(*this, getI32Type(), value);
    if (width == 64) {
      words.push_back(arith::TruncIOp::create(*this, getI32Type(), value));
      Value by = arith::ConstantOp::create(*this, getI64IntegerAttr(32));
      value = arith::ShRUIOp::create(*this, value, by);
      value = arith::TruncIOp::create(*this, getI32Type(), value);
    }
    words.push_back(value);
  }
  return words;
}

Values WordBuilder::fromWords(ValueRange words, TypeRange types) {
  Values values;
  size_t next = 0;
  for (Type type : types) {
    unsigned width = type.getIntOrFloatBitWidth();
    Value value = words[next++];
    if (width == 16)
      value = arith::TruncIOp::create(*this, getI16Type(), value);
    if (width == 64) {
      Value low = arith::ExtUIOp::create(*this, getI64Type(), value);
      Value high = arith::ExtUIOp::create(*this, getI64Type(), words[next++]);
      Value by = arith::ConstantOp::create(*this, getI64IntegerAttr(32));
      value = arith::OrIOp::create(*this, low,
                                   arith::ShLIOp::create(*this, high, by));
    }
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(*this, type, value);
    values.push_back(value);
  }
  return values;
}

} // namespace

/// What a named kind makes of two values.
static Value combined(WordBuilder &b, ReductionKind kind, Value left,
                      Value right) {
  bool isFloat = isa<FloatType>(left.getType());
  switch (kind) {
  case ReductionKind::Add:
    if (isFloat)
      return arith::AddFOp::create(b, left, right);
    return arith::AddIOp::create(b, left, right);
  case ReductionKind::Mul:
    if (isFloat)
      return arith::MulFOp::create(b, left, right);
    return arith::MulIOp::create(b, left, right);
  case ReductionKind::MinUI:
    return arith::MinUIOp::create(b, left, right);
  case ReductionKind::MinSI:
    return arith::MinSIOp::create(b, left, right);
  case ReductionKind::MinNumF:
    return arith::MinNumFOp::create(b, left, right);
  case ReductionKind::MaxUI:
    return arith::MaxUIOp::create(b, left, right);
  case ReductionKind::MaxSI:
    return arith::MaxSIOp::create(b, left, right);
  case ReductionKind::MaxNumF:
    return arith::MaxNumFOp::create(b, left, right);
  case ReductionKind::And:
    return arith::AndIOp::create(b, left, right);
  case ReductionKind::Or:
    return arith::OrIOp::create(b, left, right);
  case ReductionKind::Xor:
    return arith::XOrIOp::create(b, left, right);
  case ReductionKind::MinimumF:
    return arith::MinimumFOp::create(b, left, right);
  case ReductionKind::MaximumF:
    return arith::MaximumFOp::create(b, left, right);
  case ReductionKind::Inc:
  case ReductionKind::Dec:
    break;
  }
  llvm_unreachable("the verifier refuses it");
}

static Values combined(WordBuilder &b, AllReduceOp op, ValueRange left,
                       ValueRange right) {
  if (op.getKind())
    return {combined(b, *op.getKind(), left[0], right[0])};
  Block &block = op.getCombination().front();
  IRMapping mapping;
  Values arguments(left);
  llvm::append_range(arguments, right);
  mapping.map(block.getArguments(), arguments);
  for (Operation &inner : block.without_terminator())
    b.clone(inner, mapping);
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

namespace {

/// What the reductions of one kernel share.
class Reductions {
public:
  Reductions(gpu::GPUFuncOp kernel, std::array<int64_t, 3> block,
             ArrayRef<AllReduceOp> ops);
  void lower(AllReduceOp op);

private:
  /// Rows of words in a buffer of shared memory, from `start` on, one for each
  /// warp or for each CTA.
  struct Rows {
    Value buffer;
    Value start;
    int64_t count;
    /// Null where all `count` rows are there.
    Value runtimeCount;
    int64_t maxWords;
  };

  void makeBarriers(WordBuilder &b, ArrayRef<AllReduceOp> ops);
  Value makeBuffer(int64_t rows, int64_t words);
  Values shuffled(WordBuilder &b, NVVM::ShflKind kind, ValueRange values,
                  int64_t by);
  Values combineInWarp(WordBuilder &b, AllReduceOp op, Values values);
  Values load(WordBuilder &b, Value buffer, Value at, int64_t words);
  void store(WordBuilder &b, Value buffer, Value at, ValueRange words,
             int64_t row);
  Values combineRows(WordBuilder &b, AllReduceOp op, const Rows &rows);
  bool hasPeers() const { return cluster != 1; }

  gpu::GPUFuncOp kernel;
  int64_t warps;
  /// CTAs of a cluster; nothing where only the launch knows.
  std::optional<int64_t> cluster;
  int64_t slotRows;
  /// Words of the largest row, and of one set of `parts` and of `slots`.
  int64_t partsWords, slotsWords;
  Value thread, lane, warp, rank, clusterSize;
  /// How many rounds the thread has been through: each is a reduction.
  Value rounds;
  Value parts, slots, barriers;
};

} // namespace

Value Reductions::makeBuffer(int64_t rows, int64_t words) {
  MLIRContext *context = kernel.getContext();
  auto space =
      gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({2 * words}, IntegerType::get(context, 32),
                              MemRefLayoutAttrInterface(), space);
  return kernel.addWorkgroupAttribution(type, kernel.getLoc());
}

Reductions::Reductions(gpu::GPUFuncOp kernel, std::array<int64_t, 3> block,
                       ArrayRef<AllReduceOp> ops)
    : kernel(kernel), warps(*layout::product(block) / kWarpSize) {
  cluster = promisedSizes(kernel).ctas();
  slotRows = cluster.value_or(kMaxClusterSize);
  int64_t row = 0;
  for (AllReduceOp op : ops)
    row = std::max(row, rowWords(wordsOf(op)));
  // A set begins where vectors of 16 bytes may.
  partsWords = llvm::alignTo(warps * row, 4);
  slotsWords = llvm::alignTo(slotRows * row, 4);

  Block &entry = kernel.getBody().front();
  WordBuilder b(kernel.getLoc(), kernel.getContext());
  b.setInsertionPointToStart(&entry);
  auto id = [&](gpu::Dimension dimension) {
    return b.toI32(gpu::ThreadIdOp::create(b, dimension));
  };
  thread = id(gpu::Dimension::x);
  if (block[1] != 1)
    thread = b.add(thread, b.times(id(gpu::Dimension::y), block[0]));
  if (block[2] != 1)
    thread = b.add(thread, b.times(id(gpu::Dimension::z), block[0] * block[1]));
  lane = b.bits(thread, kWarpSize - 1);
  warp = b.shifted(thread, 5);
  // LLVM keeps it in a register.
  rounds = memref::AllocaOp::create(b, MemRefType::get({}, b.getI32Type()));
  memref::StoreOp::create(b, b.i32(0), rounds, ValueRange{});
  if (warps > 1)
    parts = makeBuffer(warps, partsWords);
  if (!hasPeers())
    return;
  slots = makeBuffer(slotRows, slotsWords);
  rank = NVVM::ClusterId::create(b, b.getI32Type());
  clusterSize = cluster ? b.i32(*cluster)
                        : Value(NVVM::ClusterDim::create(b, b.getI32Type()));
  makeBarriers(b, ops);
}

/// The op of the block `entry` that `op` is in; its terminator where `op` is in
/// another block.
static Operation *ancestorIn(Block &entry, Operation *op) {
  Operation *ancestor = entry.findAncestorOpInBlock(*op);
  return ancestor ? ancestor : entry.getTerminator();
}

/// Makes the mbarriers, and has all CTAs of the cluster know them before the
/// first reduction: by a cluster barrier that the kernel executes before it
/// anyway, or else by one whose wait comes as late as possible.
void Reductions::makeBarriers(WordBuilder &b, ArrayRef<AllReduceOp> ops) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto group = nvgpu::MBarrierGroupType::get(b.getContext(), space, 2);
  barriers = nvgpu::MBarrierCreateOp::create(b, group);
  Value isFirst = b.compare(arith::CmpIPredicate::eq, thread, b.i32(0));
  b.ifTrue(isFirst, [&] {
    for (int64_t set : {0, 1})
      nvgpu::MBarrierInitOp::create(b, barriers, b.index(1), b.index(set),
                                    Value());
    NVVM::FenceMbarrierInitOp::create(b);
  });

  Block &entry = *b.getInsertionBlock();
  Operation *last = entry.getTerminator();
  for (AllReduceOp op : ops)
    if (Operation *at = ancestorIn(entry, op); at->isBeforeInBlock(last))
      last = at;
  auto meets = [](Operation *op) {
    return op
        ->walk([](Operation *inner) {
          return isClusterArrive(inner) || isClusterWait(inner) ||
                         isa<CallOpInterface>(inner)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  Operation *first = nullptr;
  bool arrived = false;
  for (Operation &op : llvm::make_range(b.getInsertionPoint(), entry.end())) {
    if (&op == last)
      break;
    if (arrived && isClusterWait(&op))
      return;
    arrived |= isClusterArrive(&op);
    if (!first && meets(&op))
      first = &op;
  }
  // What peers must see, the fence has released.
  NVVM::ClusterArriveRelaxedOp::create(b, UnitAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(first ? first : last);
  NVVM::ClusterWaitOp::create(b, UnitAttr());
}

Values Reductions::shuffled(WordBuilder &b, NVVM::ShflKind kind,
                            ValueRange values, int64_t by) {
  Values words = b.toWords(values);
  for (Value &word : words)
    word = b.shuffle(kind, word, by);
  return b.fromWords(words, values.getTypes());
}

/// Lane 0 gets what the values of all lanes make, in the order of the lanes.
Values Reductions::combineInWarp(WordBuilder &b, AllReduceOp op,
                                 Values values) {
  for (int64_t by = 1; by < kWarpSize; by *= 2)
    values =
        combined(b, op, values, shuffled(b, NVVM::ShflKind::down, values, by));
  return values;
}

/// Loads words by vectors that are as long as their number allows.
Values Reductions::load(WordBuilder &b, Value buffer, Value at, int64_t words) {
  int64_t width = words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1;
  auto type = VectorType::get({width}, b.getI32Type());
  Values loaded;
  for (int64_t word = 0; word < words; word += width) {
    Value place = b.toIndex(b.add(at, b.i32(word)));
    Value piece = vector::LoadOp::create(b, type, buffer, place, false,
                                         llvm::MaybeAlign(4 * width));
    for (int64_t i = 0; i < width; ++i)
      loaded.push_back(vector::ExtractOp::create(b, piece, i));
  }
  return loaded;
}

/// Stores a row by vectors. LLVM would store the low half of a f64 alone from a
/// register of 64 bits, and ptxas 13.0 rounds such a register to an integer
/// where it has found out that it holds a f64.
void Reductions::store(WordBuilder &b, Value buffer, Value at, ValueRange words,
                       int64_t row) {
  Values padded(words);
  padded.resize(row, b.i32(0));
  int64_t width = std::min<int64_t>(row, 4);
  auto type = VectorType::get({width}, b.getI32Type());
  for (int64_t word = 0; word < row; word += width) {
    Value piece = vector::FromElementsOp::create(
        b, type, ArrayRef(padded).slice(word, width));
    vector::StoreOp::create(b, piece, buffer, b.toIndex(b.add(at, b.i32(word))),
                            false, llvm::MaybeAlign(4 * width));
  }
}

/// All lanes get what the rows make, in their order. Each lane combines some
/// rows, one after the other; in each step, two groups of lanes then give each
/// other what they have, and all of them combine it in the same way.
Values Reductions::combineRows(WordBuilder &b, AllReduceOp op,
                               const Rows &rows) {
  int64_t words = wordsOf(op), row = rowWords(words);
  int64_t groups = 1, share = rows.count;
  while (share > 1 && (rows.runtimeCount || share * row > rows.maxWords ||
                       (share - 1) * operationsOf(op) > kMaxOperations)) {
    groups *= 2;
    share = llvm::divideCeil(rows.count, groups);
  }
  bool allThere = !rows.runtimeCount && groups * share == rows.count;
  Value count = rows.runtimeCount ? rows.runtimeCount : b.i32(rows.count);
  // Neighbours are of one group: a load of theirs is one of a single address.
  int64_t lanes = kWarpSize / groups;
  Value group = b.shifted(lane, llvm::Log2_64(lanes));
  Value first = b.times(group, share);

  // What lanes make of rows that are not there, no one takes.
  auto isThere = [&](Value number) {
    return b.compare(arith::CmpIPredicate::ult, number, count);
  };
  auto combinedWhere = [&](Value condition, Values left, Values right) {
    Values both = combined(b, op, left, right);
    for (auto [value, alone] : llvm::zip_equal(both, left))
      value = b.select(condition, value, alone);
    return both;
  };
  SmallVector<Values> level;
  if (allThere) {
    Value at = b.add(rows.start, b.times(first, row));
    Values loaded = load(b, rows.buffer, at, share * row);
    for (int64_t i = 0; i < share; ++i)
      level.push_back(b.fromWords(ArrayRef(loaded).slice(i * row, words),
                                  op.getResultTypes()));
    while (level.size() > 1) {
      SmallVector<Values> next;
      for (size_t i = 0; i + 1 < level.size(); i += 2)
        next.push_back(combined(b, op, level[i], level[i + 1]));
      if (level.size() % 2)
        next.push_back(level.back());
      level = std::move(next);
    }
  } else {
    for (int64_t i = 0; i < share; ++i) {
      Value number = b.add(first, b.i32(i));
      Value present = isThere(number);
      number = b.select(present, number, b.i32(0));
      Values loaded =
          load(b, rows.buffer, b.add(rows.start, b.times(number, row)), row);
      Values more =
          b.fromWords(ArrayRef(loaded).take_front(words), op.getResultTypes());
      if (i == 0)
        level.push_back(more);
      else
        level[0] = combinedWhere(present, level[0], more);
    }
  }

  Values values = level[0];
  for (int64_t by = 1; by < groups; by *= 2) {
    Values others = shuffled(b, NVVM::ShflKind::bfly, values, by * lanes);
    Value isRight =
        b.compare(arith::CmpIPredicate::ne, b.bits(group, by), b.i32(0));
    Values left, right;
    for (auto [mine, other] : llvm::zip_equal(values, others)) {
      left.push_back(b.select(isRight, other, mine));
      right.push_back(b.select(isRight, mine, other));
    }
    if (allThere) {
      values = combined(b, op, left, right);
      continue;
    }
    Value rightGroup =
        b.add(b.bits(group, ~(2 * by - 1) & (groups - 1)), b.i32(by));
    values = combinedWhere(isThere(b.times(rightGroup, share)), left, right);
  }
  return values;
}

void Reductions::lower(AllReduceOp op) {
  WordBuilder b(op.getLoc(), op.getContext());
  b.setInsertionPoint(op);
  Value round = memref::LoadOp::create(b, rounds, ValueRange{});
  memref::StoreOp::create(b, b.add(round, b.i32(1)), rounds, ValueRange{});
  Value set = b.bits(round, 1);
  int64_t words = wordsOf(op), row = rowWords(words);

  // Whether there are peers, where only the launch knows.
  Value sends;
  if (!cluster)
    sends = b.compare(arith::CmpIPredicate::ugt, clusterSize, b.i32(1));
  if (hasPeers()) {
    // The last warp does it: the first one has more to do.
    Value bytes = b.times(clusterSize, 4 * row);
    Value arms = b.compare(arith::CmpIPredicate::eq, thread,
                           b.i32((warps - 1) * kWarpSize));
    if (!cluster)
      arms = arith::AndIOp::create(b, arms, sends);
    nvgpu::MBarrierArriveExpectTxOp::create(b, barriers, b.toIndex(bytes),
                                            b.toIndex(set), arms);
  }
  Values values = combineInWarp(b, op, Values(op.getValues()));
  if (warps == 1) {
    // What the lanes read in the round before comes before what is sent now.
    if (hasPeers())
      NVVM::SyncWarpOp::create(b, b.i32(-1));
    values = shuffled(b, NVVM::ShflKind::idx, values, 0);
  }
  Rows partRows{parts, b.times(set, partsWords), warps, Value(),
                hasPeers() ? kMaxWordsOfOneWarp : kMaxWordsOfAllWarps};
  if (warps > 1) {
    Value isFirst = b.compare(arith::CmpIPredicate::eq, lane, b.i32(0));
    Values parting = b.toWords(values);
    b.ifTrue(isFirst, [&] {
      store(b, parts, b.add(partRows.start, b.times(warp, row)), parting, row);
    });
    gpu::BarrierOp::create(b);
  }
  auto blockCombined = [&](WordBuilder &b) -> Values {
    return warps > 1 ? combineRows(b, op, partRows) : values;
  };
  if (!hasPeers()) {
    op.replaceAllUsesWith(blockCombined(b));
    op.erase();
    return;
  }

  // One warp sends, a message to each CTA.
  auto send = [&] {
    Values sent = b.toWords(blockCombined(b));
    while (static_cast<int64_t>(sent.size()) < row)
      sent.push_back(b.i32(0));
    b.ifTrue(b.compare(arith::CmpIPredicate::ult, lane, clusterSize), [&] {
      Value at = b.add(b.times(set, slotsWords), b.times(rank, row));
      for (int64_t word = 0; word < row; word += 4) {
        int64_t width = std::min<int64_t>(4, row - word);
        Value message = width == 1
                            ? sent[word]
                            : vector::FromElementsOp::create(
                                  b, VectorType::get({width}, b.getI32Type()),
                                  ArrayRef(sent).slice(word, width))
                                  .getResult();
        StoreAsyncOp::create(
            b, message, slots, b.toIndex(b.add(at, b.i32(word))), lane,
            barriers, b.toIndex(set), ReductionKindAttr(), b.getUnitAttr());
      }
    });
  };
  auto sendAndReceive = [&]() -> Values {
    if (warps == 1)
      send();
    else
      b.ifTrue(b.compare(arith::CmpIPredicate::eq, warp, b.i32(0)), send);
    Value parity =
        arith::TruncIOp::create(b, b.getI1Type(), b.shifted(round, 1));
    nvgpu::MBarrierTryWaitParityOp::create(b, barriers, parity,
                                           b.index(kSuspendNs), b.toIndex(set));
    return combineRows(b, op,
                       {slots, b.times(set, slotsWords), slotRows,
                        cluster ? Value() : clusterSize, kMaxWordsOfAllWarps});
  };
  if (cluster) {
    op.replaceAllUsesWith(sendAndReceive());
    op.erase();
    return;
  }
  auto branch = scf::IfOp::create(b, op.getResultTypes(), sends,
                                  /*withElseRegion=*/true);
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    b.setInsertionPointToStart(block);
    Values results =
        block == branch.thenBlock() ? sendAndReceive() : blockCombined(b);
    scf::YieldOp::create(b, results);
  }
  op.replaceAllUsesWith(branch.getResults());
  op.erase();
}

namespace {
struct LowerAllReduce : tile::impl::TileLowerAllReduceBase<LowerAllReduce> {
  using TileLowerAllReduceBase::TileLowerAllReduceBase;

  void runOnOperation() override {
    llvm::MapVector<Operation *, SmallVector<AllReduceOp>> byKernel;
    bool isRight = true;
    getOperation()->walk([&](AllReduceOp op) {
      if (gpu::GPUFuncOp kernel = kernelOf(op))
        byKernel[kernel].push_back(op);
      else
        isRight = false;
    });
    llvm::DenseMap<Operation *, std::array<int64_t, 3>> blocks;
    for (auto &[kernel, ops] : byKernel) {
      ClusterUniformity uniformity(kernel);
      for (AllReduceOp op : ops) {
        isRight &= succeeded(checkUniform(op, uniformity)) &&
                   succeeded(checkCaptured(op, uniformity));
      }
      if (auto block = blockOf(ops[0], cast<gpu::GPUFuncOp>(kernel)))
        blocks[kernel] = *block;
      else
        isRight = false;
    }
    if (!isRight)
      return signalPassFailure();
    for (auto &[kernel, ops] : byKernel) {
      Reductions reductions(cast<gpu::GPUFuncOp>(kernel), blocks[kernel], ops);
      for (AllReduceOp op : ops)
        reductions.lower(op);
    }
  }
};
} // namespace
