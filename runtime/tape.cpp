// Nodes, and the way back through them.
#include "runtime/tape.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

thread_local bool recording = false;
std::atomic<uint64_t> next_number{1};

/// What a gradient is collected for: an output of a node.
using Key = std::pair<const Node *, uint32_t>;

Key key_of(const Tensor &t) { return {t.history().node.get(), t.history().output}; }

bool has_no_gradient(const Operator &op) { return !op.grad || op.grad->kind == GradKind::none; }

std::string input_name(const OpCall &call, size_t flat) {
  const OpDef &def = call.op->def;
  size_t end = 0;
  for (size_t i = 0; i < def.inputs.size(); ++i) {
    end += call.counts.empty() ? 1 : call.counts[i];
    if (flat < end) return def.inputs[i].name;
  }
  return cat(flat);
}

/// Refuses a tensor whose memory another tensor over it was used to write: what it holds is no longer what
/// its node made.
void check_fresh(const Tensor &t, uint64_t writes) {
  if (t.history() && t.history().writes != writes)
    throw_runtime_error(
        "gradients cannot go through a tensor whose memory was written by way of another tensor, a view of "
        "it or "
        "what it is a view of");
}

[[noreturn]] void refuse(const Operator &op, const std::string &why) {
  throw_runtime_error(cat("the gradient of ", op.def.name,
                          op.def.source.empty() ? "" : cat(" (", op.def.source, ")"), " ", why));
}

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
}

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

/// One way back: the nodes that lead from the outputs to what is wanted, and what has been collected.
class Backward {
 public:
  Backward(const std::vector<Tensor> &outputs, const std::vector<Tensor> &wrt) {
    for (const Tensor &t : wrt) wanted_.insert(key_of(t));
    std::vector<std::shared_ptr<Node>> open;
    auto visit = [&](const Tensor &t) {
      if (t && t.history().node && nodes_.emplace(t.history().node->number, t.history().node).second)
        open.push_back(t.history().node);
    };
    for (const Tensor &t : outputs) visit(t);
    while (!open.empty()) {
      std::shared_ptr<Node> n = std::move(open.back());
      open.pop_back();
      for (const Tensor &t : n->call.inputs) visit(t);
    }
    for (const auto &[number, n] : nodes_)  // from the first call on
      for (const Tensor &t : n->call.inputs)
        if (t && leads_to_wanted(t)) needed_.insert(n.get());
  }

  void add(const Tensor &to, Tensor gradient) {
    if (!leads_to_wanted(to)) return;
    Tensor &sum = sums_[key_of(to)];
    sum = sum ? call_op("kw::add", {sum, std::move(gradient)})[0] : std::move(gradient);
  }

  void run() {
    for (auto n = nodes_.rbegin(); n != nodes_.rend(); ++n)
      if (needed_.contains(n->second.get())) step(n->second);
  }

  /// Drops what was collected.
  void forget() { sums_.clear(); }

  Tensor found(const Tensor &t) const {
    auto sum = sums_.find(key_of(t));
    return sum == sums_.end() ? Tensor() : sum->second;
  }

 private:
  bool leads_to_wanted(const Tensor &t) const {
    return t.history() && (wanted_.contains(key_of(t)) || needed_.contains(t.history().node.get()));
  }

  void step(const std::shared_ptr<Node> &n) {
    std::vector<Tensor> grads;
    bool any = false;
    for (uint32_t i = 0; i < n->output_types.size(); ++i) {
      auto sum = sums_.find({n.get(), i});
      any |= sum != sums_.end();
      grads.push_back(sum == sums_.end() ? Tensor() : sum->second);
    }
    if (!any) return;
    const Operator &op = *n->call.op;
    if (has_no_gradient(op))
      refuse(op, op.grad && !op.grad->why.empty() ? cat("does not exist: ", op.grad->why)
                                                  : "was asked for, but none was given when it was made");
    check_unwritten(*n);
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i]) grads[i] = Tensor::zeros(n->output_types[i].dtype, n->output_types[i].shape);
    std::vector<Tensor> outputs(grads.size());
    for (uint32_t i = 0; op.grad->saves_outputs && i < outputs.size(); ++i) {
      outputs[i] = n->saved_outputs[i].detached();
      outputs[i].set_history({n, i, outputs[i].storage().writes()});
    }
    std::vector<Tensor> of_inputs = op.grad->run({n->call, outputs, grads});
    check_gradients(*n, of_inputs);
    for (size_t i = 0; i < of_inputs.size(); ++i)
      if (of_inputs[i] && n->call.inputs[i]) add(n->call.inputs[i], of_inputs[i]);
  }

  std::map<uint64_t, std::shared_ptr<Node>> nodes_;
  std::set<const Node *> needed_;
  std::set<Key> wanted_;
  std::map<Key, Tensor> sums_;
};

}  // namespace

bool set_recording(bool on) { return std::exchange(recording, on); }
Recording::Recording(bool on) : before_(set_recording(on)) {}
Recording::~Recording() { recording = before_; }
bool is_recording() { return recording; }

Node::~Node() {
  // a long chain of calls ends one after the other, not one within the other
  std::vector<std::shared_ptr<Node>> chain;
  auto take = [&](std::vector<Tensor> &tensors) {
    for (Tensor &t : tensors) {
      if (!t || !t.is_only_handle()) continue;
      if (auto node = t.take_node(); node && node.use_count() == 1) chain.push_back(std::move(node));
    }
    tensors.clear();
  };
  take(call.inputs);
  while (!chain.empty()) {
    std::shared_ptr<Node> n = std::move(chain.back());
    chain.pop_back();
    take(n->call.inputs);
  }
}

Tensor make_variable(const Tensor &t) {
  auto node = std::make_shared<Node>();
  node->call.op = registry().need("kw::identity");
  if (recording && t.history()) {
    check_fresh(t, t.storage().writes());
    node->call.inputs = {with_same_history(t)};
  }
  node->output_types = {{t.dtype(), {t.shape().begin(), t.shape().end()}}};
  node->saved_outputs.resize(1);
  node->writes = count_writes(node->call.inputs);
  node->number = next_number++;
  Tensor variable = t.detached();
  variable.set_history({std::move(node), 0, variable.storage().writes()});
  return variable;
}

Tensor with_same_history(const Tensor &t) {
  Tensor other = t.detached();
  other.set_history(t.history());
  return other;
}

bool is_recorded(const OpCall &call) {
  return recording && std::any_of(call.inputs.begin(), call.inputs.end(),
                                  [](const Tensor &t) { return t && t.history(); });
}

std::vector<uint64_t> count_writes(const std::vector<Tensor> &tensors) {
  std::vector<uint64_t> out;
  for (const Tensor &t : tensors) out.push_back(t ? t.storage().writes() : 0);
  return out;
}

void record(OpCall call, std::vector<Tensor> &outputs, const std::vector<uint64_t> &writes) {
  auto node = std::make_shared<Node>();
  std::vector<uint64_t> now = count_writes(call.inputs);
  for (Tensor &out : outputs)
    for (size_t i = 0; i < call.inputs.size(); ++i)
      if (out.is(call.inputs[i]) && now[i] == writes[i]) out = out.detached();
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (now[i] != writes[i]) node->written = input_name(call, i);
    if (call.inputs[i]) check_fresh(call.inputs[i], writes[i]);
    // what it is now: a kernel that changes it in place later gives the tensor itself another history
    if (call.inputs[i]) call.inputs[i] = with_same_history(call.inputs[i]);
  }
  const std::optional<GradDef> &grad = call.op->grad;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const Tensor &out = outputs[i];
    node->output_types.push_back({out.dtype(), {out.shape().begin(), out.shape().end()}});
    node->saved_outputs.push_back(grad && grad->saves_outputs ? out.detached() : Tensor());
    // numbers that are no reals, of an operator without a gradient, do not change with its inputs
    if (is_float(out.dtype()) || !has_no_gradient(*call.op))
      out.set_history({node, i, out.storage().writes()});
  }
  node->writes = std::move(now);
  std::vector<uint64_t> of_outputs = count_writes(node->saved_outputs);
  node->writes.insert(node->writes.end(), of_outputs.begin(), of_outputs.end());
  node->number = next_number++;
  node->call = std::move(call);
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
    if (!seed) seed = call_op("kw::ones_like", {outputs[i]})[0];
    back.add(outputs[i], std::move(seed));
  }
  back.run();
  std::vector<Tensor> out;
  for (const Tensor &t : wrt) out.push_back(back.found(t));
  back.forget();
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) continue;
    auto is_same = [&](const Tensor &t) { return t && t.is(out[i]); };
    bool is_shared = out[i].shared_storage().use_count() > 1 ||
                     std::any_of(seeds.begin(), seeds.end(), is_same) ||
                     std::any_of(out.begin(), out.begin() + static_cast<ptrdiff_t>(i), is_same);
    if (is_shared) out[i] = call_op("kw::identity", {out[i]})[0];
    if (!is_recording()) out[i] = out[i].detached();
  }
  return out;
}

}  // namespace kw
