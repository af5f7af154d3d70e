// Code within code runs by recursion, whose depth a damaged program cannot exceed.
#include "runtime/cuda/launch.h"

#include <algorithm>

#include "ir/limits.h"
#include "ir/signature.h"

namespace kw {

namespace {

/// Loops and conditions in one another; a kernel has far fewer. Chosen.
constexpr int most_levels = 200;

class LaunchMachine : private StackMachine {
 public:
  LaunchMachine(const LaunchProgram &program, const StackOperands &operands, LaunchQueue &queue)
      : StackMachine(operands), program_(program), queue_(queue) {}

  LaunchResult run() {
    block(program_.code);
    if (is_malformed()) out_.error = LaunchResult::Error::malformed;
    out_.reads_scalars = reads_scalars();
    return out_;
  }

 private:
  using Error = LaunchResult::Error;

  bool goes_on() const { return out_.error == Error::none && !is_malformed(); }
  void end(Error e) {
    if (goes_on()) out_.error = e;
  }
  /// Ends the program if a member of the queue wants that.
  void want(bool fine) {
    if (!fine) end(Error::stopped);
  }

  void block(std::string_view code) {
    if (++level_ > most_levels) fail();
    Cursor c{code};
    while (goes_on() && !c.at_end()) step(static_cast<Op>(c.code[c.at++]), c);
    --level_;
  }

  void step(Op op, Cursor &c) {
    switch (op) {
      case Op::misaligned: return push(misaligned());
      case Op::iterator: {
        size_t k = bytes(c, 1);
        return k < iterators_.size() ? push(iterators_[k]) : fail();
      }
      case Op::slot: return reserve(number(c));
      case Op::fill: {
        uint32_t slot = number(c);
        return goes_on() ? want(queue_.fill(slot)) : void();
      }
      case Op::launch: return launch(number(c));
      case Op::repeat: return repeat(c);
      case Op::branch: {
        std::string_view yes = code(c), no = code(c);
        int64_t cond = value();
        return goes_on() ? block(cond ? yes : no) : void();
      }
      case Op::loop: return loop(c);
      case Op::check: return check(number(c));
      case Op::out_extent:
      case Op::fact:
      case Op::workspace:
      case Op::work: return fail();
      default: return compute(op, c);
    }
  }

  uint32_t number(Cursor &c) { return static_cast<uint32_t>(bytes(c, 4)); }
  /// Reads code within the code.
  std::string_view code(Cursor &c) {
    size_t size = bytes(c, 4);
    if (size > c.code.size() - c.at) {
      fail();
      return {};
    }
    c.at += size;
    return c.code.substr(c.at - size, size);
  }
  /// Pops a value that the host acts on. One that overflowed ends the program.
  int64_t value() {
    Word w = pop();
    if (w.poisoned) end(Error::overflow);
    return w.value;
  }
  int64_t size() {
    int64_t v = value();
    if (v < 0 || v >= max_extent) end(Error::overflow);
    return v;
  }

  void reserve(uint32_t slot) {
    int64_t bytes = size();
    if (goes_on()) want(queue_.reserve(slot, bytes));
  }

  void launch(uint32_t kernel) {
    if (kernel >= program_.kernels.size()) return fail();
    LaunchCall call;
    call.kernel = kernel;
    std::vector<int64_t> temporaries(program_.kernels[kernel].temporaries);
    for (int64_t &t : temporaries) t = size();
    for (int64_t &blocks : call.blocks) blocks = value();
    // A loop without iterations is no launch.
    bool runs = std::all_of(call.blocks.begin(), call.blocks.end(), [](int64_t n) { return n > 0; });
    call.bytes = temporaries, call.iterators = iterators_;
    if (goes_on() && runs) want(queue_.launch(call));
  }

  void repeat(Cursor &c) {
    auto step = static_cast<int64_t>(bytes(c, 8));
    std::string_view body = code(c);
    int64_t hi = value(), lo = value();
    if (step == 0) fail();
    if (!goes_on() || (step > 0 ? lo >= hi : lo <= hi)) return;
    uint64_t span = step > 0 ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo)
                             : static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi);
    uint64_t width = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
    uint64_t trips = (span - 1) / width + 1;
    iterators_.push_back(lo);
    for (uint64_t k = 0; k < trips && goes_on(); ++k) {
      iterators_.back() = static_cast<int64_t>(static_cast<uint64_t>(lo) + k * static_cast<uint64_t>(step));
      block(body);
    }
    iterators_.pop_back();
  }

  void loop(Cursor &c) {
    uint32_t slot = number(c);
    std::string_view condition = code(c), body = code(c);
    while (goes_on()) {
      block(condition);
      bool word = false;
      if (goes_on()) want(queue_.read(slot, word));
      if (!word) return;
      if (goes_on()) block(body);
    }
  }

  void check(uint32_t site) {
    int64_t bound = value(), found = value(), holds = value();
    if (!goes_on() || holds) return;
    out_ = {Error::fault, site, found, bound};
  }

  const LaunchProgram &program_;
  LaunchQueue &queue_;
  std::vector<int64_t> iterators_;
  int level_ = 0;
  LaunchResult out_;
};

}  // namespace

LaunchResult run_launches(const LaunchProgram &program, const StackOperands &operands, LaunchQueue &queue) {
  return LaunchMachine(program, operands, queue).run();
}

}  // namespace kw
