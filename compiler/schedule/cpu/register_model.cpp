// Takes the figures of the target's class of machines (support/machine), and assumes one store per cycle.
#include "schedule/cpu/register_model.h"

#include <algorithm>

#include "analysis/nest/trip_counts.h"
#include "analysis/vector/register_transpose.h"
#include "ir/limits.h"

namespace kw {

namespace {

/// Returns whether the partial sums of the 64 lanes stay in registers, beside the values that 64 lanes
/// compute.
bool sums_stay_in_registers(const Target &target, const VectorizationAnalysis &view) {
  uint32_t all = target.vector_registers();
  auto taken = [&](uint32_t bits) { return max_vector_width * bits / 8 / target.vector_bytes(); };
  uint32_t accumulators = taken(view.lane_sum_bits());
  uint32_t value = taken(std::max(view.widest_element(), view.widest_value()));
  // Chosen: a light body, of up to a quarter as many operations as registers, leaves half of the registers to
  // the accumulators. A heavier one needs four values beside them, and a quarter of the registers stays free.
  bool light = view.work().operations <= all / 4;
  bool fits = light ? accumulators <= all / 2
                    : view.work().operations <= all && accumulators + 4 * value <= 3 * all / 4;
  return accumulators > 0 && fits && view.reductions().empty() && can_mask(view, target) &&
         view.work().gathers + view.work().scatters == 0;
}

/// Returns the vector width if transposed blocks of as many iterations make all strided accesses contiguous;
/// else 0. Beside contiguous accesses, a row of a block fills a whole register, so that both access whole
/// cache lines.
uint32_t lanes_of_blocks(const Target &target, const For &loop, VectorizationAnalysis &view) {
  const VectorizationAnalysis::Work &work = view.work();
  if (work.gathers + work.scatters == 0 || !TransposedBlocks::supports(view.widest_element())) return 0;
  // 32 bytes at most: blocks of 16 lanes would keep two rows of 64 bytes open for each lane, too many for the
  // L1 cache.
  uint32_t bytes = work.rows > 0 ? target.vector_bytes() : std::min(target.vector_bytes(), 32u);
  uint32_t lanes = bytes * 8 / std::max(view.widest_element(), 8u);
  VectorizationAnalysis::Work left = work_with_transposes(loop, view);
  return lanes >= 4 && left.gathers + left.scatters == 0 ? lanes : 0;
}

}  // namespace

int64_t registers_of(const BodyWork &work, int64_t vectors, bool fused) {
  int64_t streamed = work.scalars + work.operations > 0 ? 1 : 0, product = fused ? 0 : 1;
  return work.accumulators * vectors + work.held * vectors + streamed + product;
}

bool fits_registers(const Target &target, const BodyWork &work, int64_t vectors, bool fused) {
  return registers_of(work, vectors, fused) <= target.vector_registers();
}

double cycles_of(const Machine &machine, const BodyWork &work, int64_t vectors) {
  auto n = static_cast<double>(vectors);
  double arithmetic = static_cast<double>(work.operations) * n / machine.arithmetic_units;
  double loads =
      (static_cast<double>(work.rows) * n + static_cast<double>(work.scalars)) / machine.loads_per_cycle;
  double stores = static_cast<double>(work.stores) * n;
  return std::max({arithmetic, loads, stores, work.accumulators > 0 ? machine.sum_latency : 0.0});
}

uint32_t vectors_per_value(const Target &target, const VectorizationAnalysis::Work &work) {
  if (work.gathers + work.scatters > 0) return 1;
  // Chosen: if each instruction keeps one value alive, 4 registers per value take half of the registers at
  // most, and 2 take three quarters.
  uint32_t few = target.vector_registers() / 8;
  uint32_t instructions = work.operations + target.machine().shuffles_per_strided_load * work.strided;
  return instructions <= few ? 4 : instructions <= 3 * few ? 2 : 1;
}

uint32_t lanes_of_loop(const Target &target, const For &loop, VectorizationAnalysis &view) {
  const VectorizationAnalysis::Work &work = view.work();
  auto trips = most_trips(loop);
  if (trips && *trips < fewest_lanes) return 0;
  if (uint32_t square = lanes_of_blocks(target, loop, view); square && !(trips && *trips < square))
    return square;
  bool shuffled = target.has_shuffles(view.narrowest_element());
  // Chosen weights: a gather, or a strided load without shuffles, costs 1, a scatter 2. Four times the cost
  // must not exceed the vectorized work. There an operation counts 1 and a contiguous access 2; without
  // gather instructions, two operations count 1 and accesses nothing.
  uint32_t apart = work.gathers + 2 * work.scatters + (shuffled ? 0 : work.strided);
  uint32_t worth = target.has_gather() ? work.operations + 2 * work.rows : work.operations / 2;
  if (4 * apart > worth) return 0;
  if (work.rows + work.strided + work.operations == 0) return 0;
  // The iterations of a `while` wait for each other. A second register fills the time better than a narrow
  // counter would, and more lanes would end too late.
  uint32_t widest = std::max({view.widest_element(), view.has_while() ? 32u : view.widest_value(), 8u});
  uint32_t lanes = std::min(target.vector_bytes() * 8 / widest, max_vector_width);
  uint32_t vectors = view.has_while() ? 2 : vectors_per_value(target, work);
  uint32_t wanted = std::min(lanes * vectors, max_vector_width);
  while (trips && wanted > lanes && wanted > *trips) wanted /= 2;
  return sums_stay_in_registers(target, view) && (!trips || *trips >= max_vector_width) ? max_vector_width
                                                                                        : wanted;
}

}  // namespace kw
