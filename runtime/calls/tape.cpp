// Nodes of recorded calls, and the backward pass through them.
#include "runtime/calls/tape.h"

#include <algorithm>
#include <atomic>

#include "runtime/memory/buffer_allocator.h"
#include "runtime/op_error.h"
#include "support/pointer_map.h"
#include "support/text.h"

namespace kw {

namespace {

/// The state of this thread. It is read several times in each call. Reads are fast because it has no
/// destructor.
constinit thread_local GradMode state{};
thread_local std::shared_ptr<Tape> newest;  ///< owns the tapes of this thread; only set_recording uses it
std::atomic<uint64_t> next_number{1};

/// Returns whether the operator has no gradient, by default or by declaration.
bool has_no_gradient(const Operator &op) { return !op.grad || op.grad->kind == GradKind::none; }

[[noreturn]] void refuse_written_memory() {
  throw_runtime_error(
      "gradients cannot go through a tensor whose memory was written by way of another tensor, a view of it "
      "or what it is a view of");
}

/// Throws OpError if the memory of a tensor was written through another tensor: it no longer holds the output
/// of its node.
void check_fresh(const Tensor &t, uint64_t writes) {
  if (t.history() && t.history().writes != writes) refuse_written_memory();
}

/// Throws OpError with the operator, the place of its definition and the reason.
[[noreturn]] void refuse(const Operator &op, const std::string &why) {
  throw_runtime_error(cat("the gradient of ", op.def.name,
                          op.def.source.empty() ? "" : cat(" (", op.def.source, ")"), " ", why));
}

/// Throws OpError if the kernel wrote an input, or if memory that the gradient reads was written after the
/// call.
void check_unwritten(const Node &n) {
  const Operator &op = *n.call.op;
  if (!n.written.empty())
    refuse(op, cat("cannot be computed: its kernel writes the input '", n.written, "' in place"));
  auto is_as_it_was = [&](const Tensor &t, size_t at) { return !t || t.storage().writes() == n.writes[at]; };
  for (size_t i = 0; op.grad->saves_inputs && i < n.call.inputs.size(); ++i)
    if (!is_as_it_was(n.call.inputs[i], i))
      refuse(op,
             cat("cannot be computed: the input '", input_name(n.call, i), "' was written after the call"));
  for (size_t i = 0; op.grad->saves_outputs && i < n.saved_outputs.size(); ++i)
    if (!is_as_it_was(n.saved_outputs[i], n.call.inputs.size() + i))
      refuse(op, cat("cannot be computed: output ", i, " was written after the call"));
  for (size_t i = 0; i < n.saved.size(); ++i)
    if (!is_as_it_was(n.saved[i], n.call.inputs.size() + n.saved_outputs.size() + i))
      refuse(op, "cannot be computed: memory that its kernel saved was written after the call");
}

/// Throws OpError unless a gradient has one value per input, each empty or of the dtype and shape of that
/// input.
void check_gradients(const Node &n, const std::vector<Tensor> &found) {
  const Operator &op = *n.call.op;
  if (found.size() != n.call.inputs.size())
    refuse(op, cat("returns ", counted(found.size(), "value"),
                   ", but must return one per input: ", n.call.inputs.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    const Tensor &input = n.call.inputs[i];
    if (!found[i] || !input) continue;
    bool same =
        found[i].dtype() == input.dtype() && std::equal(found[i].shape().begin(), found[i].shape().end(),
                                                        input.shape().begin(), input.shape().end());
    if (!same)
      refuse(op, cat("returns ", type_text(found[i].dtype(), found[i].shape()), " for the input '",
                     input_name(n.call, i), "', which is ", type_text(input.dtype(), input.shape())));
  }
}

/// Returns what the kernel of a call saved, as results of a call without gradient on the same inputs: so a
/// gradient that would go through them is refused.
std::vector<Tensor> without_gradient(const Node &n) {
  auto node = make_in_buffer<Node>();
  node->call.op = make_op({n.call.op->def.name, {}, {}}, {},
                          GradDef{n.call.op->def.name,
                                  GradKind::none,
                                  {},
                                  false,
                                  false,
                                  "its gradient reads what its kernel saved, of which no gradient is known"});
  node->call.inputs = n.call.inputs;
  node->number = next_number++;
  node->recorder = n.recorder;
  std::vector<Tensor> out;
  node->output_count = static_cast<uint32_t>(n.saved.size());
  for (uint32_t i = 0; i < n.saved.size(); ++i) {
    out.push_back(n.saved[i] ? n.saved[i].detached() : Tensor());
    node->output_types.push_back(out[i] ? TensorType{out[i].dtype(), out[i].shape()} : TensorType{});
    if (out[i]) out[i].set_history({node, i, out[i].storage().writes()});
  }
  return out;
}

/// One backward pass: the nodes between the outputs and the requested tensors, and the gradients collected so
/// far.
class Backward {
 public:
  /// Collects the nodes that the outputs depend on, breadth first. Numbers of calls grow with time, so they
  /// are in topological order.
  Backward(const std::vector<Tensor> &outputs, const std::vector<Tensor> &wrt) {
    states_.reserve(8);
    order_.reserve(8);
    for (const Tensor &t : outputs) visit(t);
    for (size_t next = 0; next < states_.size(); ++next) {
      const Node &n = *states_[next].node;  // a node does not move when states_ grows
      for (const Tensor &t : n.call.inputs) visit(t);
    }
    uint32_t count = 0;
    for (NodeState &stop : states_) stop.first_sum = std::exchange(count, count + stop.node->output_count);
    sums_.resize(count);
    for (const Tensor &t : wrt)
      if (Sum *sum = sum_of(t)) sum->is_wanted = true;
    for (uint32_t i = 0; i < states_.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return states_[a].node->number < states_[b].node->number; });
    for (uint32_t at : order_)  // from the first call to the last
      for (const Tensor &t : states_[at].node->call.inputs) states_[at].is_needed |= t && leads_to_wanted(t);
  }

  void add(const Tensor &to, Tensor gradient) {
    if (!leads_to_wanted(to)) return;
    Tensor &sum = sum_of(to)->value;
    sum = sum ? call_op("kw::add", {sum, std::move(gradient)})[0] : std::move(gradient);
  }

  /// Visits the calls from the last to the first. So all uses of an output have added to its sum before its
  /// own call is reached.
  void run() {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at)
      if (states_[*at].is_needed) step(states_[*at]);
  }

  /// Returns the collected gradient; an empty Tensor if the outputs do not depend on the tensor.
  Tensor found(const Tensor &t) {
    const Sum *sum = sum_of(t);
    return sum ? sum->value : Tensor();
  }
  /// Drops the collected gradients.
  void forget() { sums_.clear(); }

 private:
  struct NodeState {
    std::shared_ptr<Node> node;
    bool is_needed = false;  ///< its inputs lead to a requested tensor
    uint32_t first_sum = 0;
  };
  /// The gradient collected for one output of a node.
  struct Sum {
    Tensor value{};
    bool is_wanted = false;  ///< a gradient by this output is requested
  };

  /// Adds the node of a tensor once; tensors without history have none.
  void visit(const Tensor &t) {
    if (!t || !t.history()) return;
    if (numbers_.insert(t.history().node.get(), static_cast<uint32_t>(states_.size())))
      states_.push_back({t.history().node});
  }

  NodeState *state_of(const Tensor &t) {
    const uint32_t *number = t.history() ? numbers_.find(t.history().node.get()) : nullptr;
    return number ? &states_[*number] : nullptr;
  }

  Sum *sum_of(const Tensor &t) {
    const NodeState *stop = state_of(t);
    return stop ? &sums_[stop->first_sum + t.history().output] : nullptr;
  }

  /// Returns whether a gradient is requested for `t`, or for a tensor from which `t` was computed.
  bool leads_to_wanted(const Tensor &t) {
    const NodeState *stop = state_of(t);
    return stop && (stop->is_needed || sums_[stop->first_sum + t.history().output].is_wanted);
  }

  /// Runs the gradient of one call. Its sums are complete; those that are not requested are dropped.
  void step(NodeState &stop) {
    const std::shared_ptr<Node> &n = stop.node;
    std::vector<Tensor> grads;
    grads.reserve(n->output_count);
    bool any = false;
    for (size_t i = 0; i < n->output_count; ++i) {
      Sum &sum = sums_[stop.first_sum + i];
      any |= !!sum.value;
      grads.push_back(sum.is_wanted ? sum.value : std::move(sum.value));
    }
    if (!any) return;
    const Operator &op = *n->call.op;
    if (has_no_gradient(op))
      refuse(op, op.grad && !op.grad->why.empty()
                     ? cat("does not exist: ", op.grad->why)
                     : "was asked for, but none was given when it was made: `bprop=` gives one");
    check_unwritten(*n);
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i])
        grads[i] = Tensor::zeros(n->output_types[i].dtype, n->output_types[i].shape, n->call.device);
    std::vector<Tensor> outputs(grads.size());
    for (uint32_t i = 0; op.grad->saves_outputs && i < outputs.size(); ++i) {
      outputs[i] = n->saved_outputs[i];
      if (!is_recording()) continue;  // no gradient goes through this one
      outputs[i] = outputs[i].detached();
      outputs[i].set_history({n, i, outputs[i].storage().writes()});
    }
    bool is_plain = n->saved.empty() || !is_recording();
    std::vector<Tensor> of_inputs =
        op.grad->run({n->call, outputs, grads, is_plain ? n->saved : without_gradient(*n)});
    check_gradients(*n, of_inputs);
    for (size_t i = 0; i < of_inputs.size(); ++i)
      if (of_inputs[i] && n->call.inputs[i]) add(n->call.inputs[i], std::move(of_inputs[i]));
  }

  std::vector<NodeState> states_;
  std::vector<Sum> sums_;        ///< the sums of each node are adjacent
  std::vector<uint32_t> order_;  ///< order of the calls
  PointerMap<uint32_t> numbers_;
};

}  // namespace

std::optional<bool> set_recording(std::optional<bool> on) {
  GradMode before = state, now{on.value_or(false), on.has_value(), before.recorder};
  if (now.on == (now.recorder == nullptr)) {
    std::shared_ptr<Tape> &chain = newest;
    if (now.on) {
      chain = std::make_shared<Tape>(std::move(chain));
      now.recorder = chain.get();
    } else {
      // also ends the tapes that were begun inside this one and never ended
      for (bool is_last = false; !is_last; chain = std::move(chain->parent)) {
        is_last = chain.get() == now.recorder;
        chain->is_active.store(false, std::memory_order_relaxed);
      }
      now.recorder = nullptr;
    }
  }
  state = now;
  return before.is_explicit ? std::optional(before.on) : std::nullopt;
}
GradModeGuard::GradModeGuard(bool on) : state_(state), before_(state_), on_(on) {
  state_.on = on_;
  if (!on_) state_.recorder = nullptr;
}
GradModeGuard::~GradModeGuard() {
  state_.on = before_.on;
  if (!on_) state_.recorder = before_.recorder;
}
bool is_recording() { return state.on; }

/// Returns the tape that set_recording began in this thread; null if there is none.
static std::shared_ptr<const Tape> present_recorder() {
  return state.recorder ? state.recorder->shared_from_this() : nullptr;
}

/// Ends the pins of tensors.
static void unpin(std::span<const Tensor> tensors) {
  for (const Tensor &t : tensors)
    if (t) t.storage().unpin();
}

/// Drops the inputs. Nodes that nothing else needs are put at the front of `chain`.
void Node::drop_inputs(std::shared_ptr<Node> &chain) {
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] && i < pinned_inputs && !(i < 64 && pinned_by_variables >> i & 1u))
      call.inputs[i].storage().unpin();
  pinned_inputs = 0;
  for (Tensor &t : call.inputs) {
    if (!t || !t.is_only_handle()) continue;
    if (auto node = t.take_node(); node && node.use_count() == 1)
      node->destruction_chain = std::exchange(chain, node);
  }
  call.inputs.clear();
}

Node::~Node() {
  if (variable) variable->unpin();
  unpin(saved_outputs);
  unpin(saved);
  // frees a long chain of calls iteratively, because recursion could overflow the stack
  std::shared_ptr<Node> chain;
  drop_inputs(chain);
  while (chain) {
    std::shared_ptr<Node> n = std::exchange(chain, nullptr);
    chain = std::move(n->destruction_chain);
    n->drop_inputs(chain);
  }
}

/// Returns the operator that copies; never destroyed, for calls while the process ends.
static const std::shared_ptr<const Operator> &identity() {
  static const auto &op = *new auto(registry().need("kw::identity"));
  return op;
}

/// Returns a copy with the same history.
static Tensor copy_of(const Tensor &t) {
  GradModeGuard off(false);
  Tensor copy = call_op({identity(), {t.detached()}})[0];
  if (t.history()) copy.set_history({t.history().node, t.history().output, copy.storage().writes()});
  return copy;
}

/// Pins the memory of a tensor; then replaces the tensor by a copy, whose memory is pinned instead, if other
/// code may write the memory. Without memory for the copy, the tensor stays pinned.
static void pin(Tensor &t) {
  t.storage().pin();
  if (!t.storage().is_viewed()) [[likely]]
    return;
  Tensor copy = copy_of(t);
  copy.storage().pin();
  t.storage().unpin();
  t = std::move(copy);
}

static uint64_t writes_into(const Tensor &t) { return t ? t.storage().writes() : 0; }

/// Returns the writes into each tensor, in a list with room for `more` numbers.
static std::vector<uint64_t> count_writes(const std::vector<Tensor> &tensors, size_t more = 0) {
  std::vector<uint64_t> out;
  out.reserve(tensors.size() + more);
  for (const Tensor &t : tensors) out.push_back(writes_into(t));
  return out;
}

/// Returns whether a tensor is a variable that has the memory which its node pins. The node of an input stays
/// as long as the node of the call.
static bool is_variable(const Tensor &t) {
  return t.history() && t.history().node->variable.get() == &t.storage();
}

Tensor make_variable(const Tensor &t) {
  auto node = make_in_buffer<Node>();
  node->call.op = identity();
  if (state.on && t.history()) {
    check_fresh(t, t.storage().writes());
    node->call.inputs = {with_same_history(t)};
  }
  node->writes = count_writes(node->call.inputs);
  node->number = next_number++;
  Tensor variable = t.detached();
  node->variable = variable.shared_storage();  // the node ends the pin, also if the copy fails
  pin(variable);
  node->variable = variable.shared_storage();
  node->recorder = present_recorder();
  variable.set_history({std::move(node), 0, variable.storage().writes()});
  return variable;
}

Tensor with_same_history(const Tensor &t) {
  Tensor other = t.detached();
  other.set_history(t.history());
  return other;
}

bool is_recorded(const OpCall &call) {
  auto has_history = [](const Tensor &t) { return t && t.history(); };
  auto may_miss_one = [](const Tensor &t) { return t && !t.history() && t.storage().recorded_write() != 0; };
  // most calls end here, after one pass and without a look at the state of the thread
  if (std::none_of(call.inputs.begin(), call.inputs.end(),
                   [](const Tensor &t) { return t && (t.history() || t.storage().recorded_write() != 0); }))
    return false;
  bool any = std::any_of(call.inputs.begin(), call.inputs.end(), has_history);
  const GradMode now = state;
  const Tape *outermost = now.recorder;
  while (outermost && outermost->parent) outermost = outermost->parent.get();
  for (const Tensor &t : call.inputs) {
    if (outermost && may_miss_one(t) && t.storage().recorded_write() >= outermost->first_number)
      refuse_written_memory();
    if (!has_history(t)) continue;
    const Tape *of = t.history().node->recorder.get();
    if (!of || of == now.recorder || (now.is_explicit && !now.on)) continue;
    if (of->is_active.load(std::memory_order_relaxed) && of->thread != std::this_thread::get_id())
      throw_runtime_error(cat(call.op->def.name,
                              " was called on a tensor whose gradient another thread is about to ask for, "
                              "which would not know of the call: call it in that thread"));
  }
  return any && now.on;
}

Recording::Recording(const OpCall &call, bool runs_python) : Recording() {
  writes_ = count_writes(call.inputs, 2);  // room for those of outputs that the gradient saves
  if (has_no_gradient(*call.op) || !call.op->grad->saves_inputs) return;
  if (runs_python) pinned_.reserve(call.inputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor &t = call.inputs[i];
    if (!t) continue;
    if (runs_python) pinned_.emplace_back(t).storage().pin();
    if (!t.storage().is_viewed()) continue;
    copies_.resize(call.inputs.size());
    copies_[i] = copy_of(t);
  }
}

Recording::~Recording() { unpin(pinned_); }

void Recording::finish(OpCall finished, std::vector<Tensor> &outputs, std::vector<Tensor> saved) {
  auto node = make_in_buffer<Node>();
  node->number = next_number++;
  node->recorder = present_recorder();
  OpCall &call = node->call;
  call = std::move(finished);
  node->writes = std::move(writes_);  // so far those before the run
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor &input = call.inputs[i];
    uint64_t after = writes_into(input), before = std::exchange(node->writes[i], after);
    if (Storage::written_between(before, after)) {
      node->written = input_name(call, i);
      input.storage().note_recorded_write(node->number);
    } else {
      for (Tensor &out : outputs)
        if (out.is(input)) out = out.detached();
    }
    if (input) check_fresh(input, before);
  }
  bool has_gradient = !has_no_gradient(*call.op);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Tensor &input = call.inputs[i];
    // keeps its present history: a kernel that changes the tensor in place later gives it another one
    if (input) input = with_same_history(!copies_.empty() && copies_[i] ? copies_[i] : input);
    if (!has_gradient || !call.op->grad->saves_inputs) continue;
    node->pinned_inputs = i + 1;
    if (i < 64 && input && is_variable(input))
      node->pinned_by_variables |= uint64_t{1} << i;
    else if (input)
      pin(input);
    node->writes[i] = writes_into(input);
  }
  bool saves_outputs = has_gradient && call.op->grad->saves_outputs;
  node->output_count = static_cast<uint32_t>(outputs.size());
  if (outputs.size() > 1)
    for (const Tensor &out : outputs) node->output_types.push_back({out.dtype(), out.shape()});
  if (saves_outputs) node->saved_outputs.reserve(outputs.size());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const Tensor &out = outputs[i];
    // without history, which would keep this node alive forever
    if (saves_outputs) pin(node->saved_outputs.emplace_back(out.detached()));
    // non-float outputs of an operator without a gradient do not depend differentiably on its inputs
    if (is_float(out.dtype()) || has_gradient) out.set_history({node, i, out.storage().writes()});
  }
  node->saved.reserve(saved.size());
  for (const Tensor &t : saved)
    if (node->saved.push_back(t ? t.detached() : t); t) pin(node->saved.back());
  for (const Tensor &out : node->saved_outputs) node->writes.push_back(writes_into(out));
  for (const Tensor &t : node->saved) node->writes.push_back(writes_into(t));
}

uint64_t next_call_number() { return next_number.load(); }

bool is_history_over(const Tensor &t, uint64_t since) {
  const Node *n = t.history().node.get();
  if (!n || n->number < since || !n->written.empty() || is_recording()) return false;
  const Tape *of = n->recorder.get();
  return of && of->thread == std::this_thread::get_id() && !of->is_active.load(std::memory_order_relaxed);
}

std::vector<Tensor> gradients(const std::vector<Tensor> &outputs, const std::vector<Tensor> &seeds,
                              const std::vector<Tensor> &wrt) {
  for (const Tensor &t : wrt)
    if (!t || !t.history())
      throw_value_error("a gradient was asked for by a tensor that was no variable when the calls were made");
  if (!seeds.empty() && seeds.size() != outputs.size())
    throw_type_error(cat(counted(seeds.size(), "gradient"), " for ", counted(outputs.size(), "output")));
  for (const Tensor &t : outputs) check_fresh(t, t.storage().writes());
  Backward back(outputs, wrt);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor seed = i < seeds.size() ? seeds[i] : Tensor();
    if (seed && type_text(seed.dtype(), seed.shape()) != type_text(outputs[i].dtype(), outputs[i].shape()))
      throw_value_error(cat("the gradient for output ", i, " is ", type_text(seed.dtype(), seed.shape()),
                            ", but the output is ", type_text(outputs[i].dtype(), outputs[i].shape())));
    if (seed && seed.device() != outputs[i].device()) {
      if (seed.history())
        throw_value_error(cat("the gradient for output ", i, " is on ", device_text(seed.device()),
                              ", but the output is on ", device_text(outputs[i].device())));
      seed = seed.to(outputs[i].device());
    }
    if (!seed)  // recorded, because a gradient of this gradient goes through it
      seed = is_recording() ? call_op("kw::ones_like", {outputs[i]})[0]
                            : Tensor::ones(outputs[i].dtype(), outputs[i].shape(), outputs[i].device());
    back.add(outputs[i], std::move(seed));
  }
  back.run();
  std::vector<Tensor> out;
  out.reserve(wrt.size());
  for (const Tensor &t : wrt) out.push_back(back.found(t));
  back.forget();
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) continue;
    // a result may be a seed or a gradient that is used twice: a copy protects the others from writes to it
    bool is_own = out[i].writable() && out[i].is_only_handle() && out[i].shared_storage().use_count() == 1;
    if (!is_own) out[i] = call_op("kw::identity", {out[i]})[0];
    if (!is_recording() && out[i].history()) out[i] = out[i].detached();
  }
  return out;
}

}  // namespace kw
