// Gradients of operator calls in reverse mode: calls on tensors that a gradient is asked for leave nodes, and
// going back through them calls the operators' gradients, which are operator calls again. So any kernel may
// take part in any gradient, and gradients of gradients are the same thing twice. One thread's calls know
// nothing of another's.
#pragma once

#include <atomic>
#include <thread>

#include "runtime/calls/call.h"

namespace kw {

/// What a gradient gets to see: the forward call, its outputs, and what the result depends on them by. All
/// are tensors with their history, so that the gradient can be differentiated.
struct GradCall {
  const OpCall &call;
  const std::vector<Tensor> &outputs;  ///< none each when the gradient does not save them
  const std::vector<Tensor> &grads;    ///< one per output; zeros where the result does not depend on it
};

/// A thread while it records calls for a gradient.
struct Tape : std::enable_shared_from_this<Tape> {
  explicit Tape(std::shared_ptr<Tape> outer) : parent(std::move(outer)) {}
  std::thread::id thread = std::this_thread::get_id();
  std::atomic<bool> is_active{true};
  std::shared_ptr<Tape> parent;  ///< the one that this thread began before
};

/// What a thread does with calls.
struct GradMode {
  bool on;
  bool is_explicit;  ///< by set_recording
  Tape *recorder;    ///< while set_recording has it record
};

/// A recorded call.
struct Node {
  Node() = default;
  Node(const Node &) = delete;
  ~Node();

  OpCall call;  ///< its inputs with their history
  /// As far as the gradient saves them; without history, which would keep this node alive for ever.
  std::vector<Tensor> saved_outputs;
  std::vector<TensorType> output_types;
  std::vector<uint64_t> writes;  ///< into the memory of inputs, then outputs, when it was recorded
  std::string written;           ///< an input that the kernel itself wrote, or ""
  uint64_t number = 0;           ///< later calls have greater ones
  std::shared_ptr<const Tape> recorder{};
  std::shared_ptr<Node> destruction_chain{};  ///< in the chain of its destructor
};

/// Whether calls of this thread are recorded while this lives.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool on);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard &) = delete;

 private:
  GradMode before_;  ///< its recorder is put by while this says no
  bool on_;
};
bool is_recording();
/// The same for as long as nothing else says otherwise; returns what it was, none where nothing was said in
/// this thread.
std::optional<bool> set_recording(std::optional<bool> on);

/// The same elements as a tensor of its own, whose gradient can be asked for.
Tensor make_variable(const Tensor &t);
/// Stands for a tensor as it is now, also when a kernel changes it in place later: what gradients are asked
/// by.
Tensor with_same_history(const Tensor &t);

/// Whether a call leaves a node: calls are recorded now, and an input has a history. Throws OpError in a
/// thread in which nothing was said when another thread still records calls on an input: a gradient would
/// lack this one.
bool is_recorded(const OpCall &call);
/// How often the memory of each tensor was written so far.
std::vector<uint64_t> count_writes(const std::vector<Tensor> &tensors);
/// Leaves the node of a call that was made, and gives the outputs their history. `writes`: count_writes of
/// the inputs before the call. Outputs that are inputs, unchanged, become tensors of their own.
void record(OpCall call, std::vector<Tensor> &outputs, const std::vector<uint64_t> &writes);

/// The gradients of the sum of outputs · seeds by each of `wrt`; none where the outputs do not depend on it.
/// A seed that is none counts as ones. The calls are recorded when the thread records. Throws OpError: a
/// tensor of `wrt` has no history, an operator on the way has no gradient, one returns the wrong number,
/// shape or dtype of gradients, or memory that it saved was written since, or a seed is of another type than
/// its output. What is found shares memory with nothing.
std::vector<Tensor> gradients(const std::vector<Tensor> &outputs, const std::vector<Tensor> &seeds,
                              const std::vector<Tensor> &wrt);

}  // namespace kw
