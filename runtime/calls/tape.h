// Gradients of operator calls in reverse mode. Calls on tensors for which a gradient is requested record
// nodes. The backward pass calls the gradients of the operators, which are operator calls again. So any
// kernel can take part in any gradient, and gradients of gradients need no extra code. Threads record
// independently.
#pragma once

#include <atomic>
#include <thread>

#include "runtime/calls/call.h"

namespace kw {

/// The arguments of a gradient: the forward call, its outputs, and the gradients of the result by these
/// outputs. Inputs and outputs have their history, so that the gradient itself can be differentiated.
struct GradCall {
  const OpCall &call;
  const std::vector<Tensor> &outputs;  ///< empty tensors if the gradient does not save them
  const std::vector<Tensor> &grads;    ///< one per output; zeros if the result does not depend on it
  /// KernelContext::saved. No gradient goes through these: the kernel computed them, not recorded calls. A
  /// gradient of the gradient that would need to is refused.
  const std::vector<Tensor> &saved;
};

/// Returns the number that the next recorded call gets.
uint64_t next_call_number();

/// A period in which a thread records calls for a gradient.
struct Tape : std::enable_shared_from_this<Tape> {
  explicit Tape(std::shared_ptr<Tape> outer) : parent(std::move(outer)) {}
  std::thread::id thread = std::this_thread::get_id();
  std::atomic<bool> is_active{true};
  uint64_t first_number = next_call_number();  ///< of the calls that it records
  std::shared_ptr<Tape> parent;                ///< the tape that this thread began before this one
};

/// The recording state of a thread.
struct GradMode {
  bool on;
  bool is_explicit;  ///< set by set_recording
  Tape *recorder;    ///< tape while set_recording is on
};

/// A recorded call.
struct Node {
  Node() = default;
  Node(const Node &) = delete;
  ~Node();

  OpCall call;  ///< the call; its inputs keep their history
  /// The outputs, if the gradient saves them; without history, which would keep this node alive forever.
  std::vector<Tensor> saved_outputs;
  std::vector<Tensor> saved;            ///< by the kernel
  std::shared_ptr<Storage> variable{};  ///< memory of the variable that the node stands for, if it does
  size_t pinned_inputs = 0;          ///< the first inputs whose memory is pinned, like all other saved memory
  uint64_t pinned_by_variables = 0;  ///< bit set: those of them that the nodes of variables pin
  uint32_t output_count = 1;
  std::vector<TensorType> output_types;  ///< of several outputs; the only one has a gradient if its call has
  std::vector<uint64_t> writes;  ///< of inputs, then saved outputs, then `saved`, when it was recorded
  std::string written;           ///< name of an input that the kernel itself wrote, or ""
  uint64_t number = 0;           ///< grows with time: later calls have greater numbers
  std::shared_ptr<const Tape> recorder{};
  std::shared_ptr<Node> destruction_chain{};  ///< link in the list that its destructor unrolls

 private:
  void drop_inputs(std::shared_ptr<Node> &chain);
};

/// Turns recording on or off in this thread during its lifetime.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool on);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard &) = delete;

 private:
  GradMode &state_;  ///< of this thread, looked up once
  GradMode before_;  ///< its recorder is restored if the guard turned recording off
  bool on_;
};
bool is_recording();
/// Turns recording on or off in this thread until the next change. Without a value, turns it off with no
/// explicit setting. Returns the previous explicit setting, or nothing.
std::optional<bool> set_recording(std::optional<bool> on);

/// Returns a new tensor with the same elements, for which a gradient can be requested. It shares the memory,
/// if no other code may write that.
Tensor make_variable(const Tensor &t);
/// Returns a handle that keeps the present history of a tensor, even if a kernel changes the tensor in place
/// later. Gradients are requested by it.
Tensor with_same_history(const Tensor &t);

/// Returns whether a call is recorded: recording is on and an input has a history. Throws OpError if a
/// gradient would miss the call: this thread made no setting while another thread still records calls on an
/// input; or an input has no history, and a recorded call wrote its memory through another tensor.
bool is_recorded(const OpCall &call);
/// A call that is being recorded, from before its kernel runs.
class Recording {
 public:
  /// Counts the writes into the inputs so far. Copies those that the gradient saves and other code may write,
  /// also while the kernel runs. `runs_python`: the kernel may run any Python code; then the inputs are
  /// pinned meanwhile.
  Recording(const OpCall &call, bool runs_python);
  Recording(const Recording &) = delete;
  ~Recording();

  /// Makes the node of the finished call and gives the outputs their history. `saved`: tensors that the
  /// kernel keeps for its gradient. Outputs that are unchanged inputs become new tensors. What the gradient
  /// saves of memory that other code may write is copied.
  void finish(OpCall finished, std::vector<Tensor> &outputs, std::vector<Tensor> saved = {});

 private:
  Recording() = default;          // so the destructor ends the pins of a constructor that throws
  std::vector<uint64_t> writes_;  ///< into the memory of each input
  std::vector<Tensor> copies_;    ///< of inputs, by their place; empty if there are none
  std::vector<Tensor> pinned_;
};

/// Returns whether no gradient can need the history of a result any more: this thread has recorded its call
/// since a number, has ended that recording, and records nothing now; and the kernel did not change an older
/// tensor in place.
bool is_history_over(const Tensor &t, uint64_t since);

/// Returns the gradients of the sum of outputs · seeds by each of `wrt`; an empty Tensor if the outputs do
/// not depend on it. An empty seed counts as ones. The backward calls are recorded if the thread records.
/// Results share no memory. Throws OpError in these cases: a tensor of `wrt` has no history; an operator on
/// the path has no gradient, or one with a wrong number, shape or dtype; saved memory was written since; a
/// seed has another type than its output.
std::vector<Tensor> gradients(const std::vector<Tensor> &outputs, const std::vector<Tensor> &seeds,
                              const std::vector<Tensor> &wrt);

}  // namespace kw
