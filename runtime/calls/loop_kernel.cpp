// Operands → an invocation → a specialization → a run → results.
#include "runtime/calls/loop_kernel.h"

#include <algorithm>
#include <bit>

#include "runtime/cuda/device.h"
#include "runtime/cuda/run.h"
#include "runtime/launch.h"
#include "runtime/op_error.h"
#include "runtime/resolved_error.h"
#include "runtime/versions/faults.h"
#include "support/text.h"

namespace kw {

namespace {

void add_operand(Invocation &call, const Operand &o) {
  if (const auto *t = std::get_if<Tensor>(&o))
    return call.device = t->device(), call.add_address(t->array()), call.add(t->array(), t->stride_class());
  if (const auto *truth = std::get_if<bool>(&o))
    return call.add_number(ArgKind::weak_scalar, DType::b1, *truth);
  if (const auto *i = std::get_if<int64_t>(&o))
    return call.add_number(ArgKind::weak_scalar, DType::i64, static_cast<uint64_t>(*i));
  call.add_number(ArgKind::weak_scalar, DType::f64, std::bit_cast<uint64_t>(std::get<double>(o)));
}

/// Returns the tensor given for the result that a parameter is; null if none is given.
const Tensor *given_for(const Artifact &a, uint32_t param, std::span<const Tensor> given) {
  for (size_t i = 0; i < std::min(a.results.size(), given.size()); ++i)
    if (a.results[i] == param) return &given[i];
  return nullptr;
}

/// Returns a given tensor in the shape of an output; an empty one if it does not fit.
Tensor fitting(const Tensor &given, const ParamRecord &p, Extents shape) {
  if (!given || given.dtype() != p.dtype || !given.is_contiguous()) return {};
  if (std::ranges::equal(given.shape(), shape)) return given;
  int64_t size = 1;
  for (int64_t e : shape) size *= e;
  return size == given.size() ? given.reshaped(shape) : Tensor();
}

/// Returns new memory for an output.
Tensor new_output(const ParamRecord &p, Extents shape, Device device) {
  return p.fill == Fill::zero ? Tensor::zeros(p.dtype, shape, device) : Tensor::empty(p.dtype, shape, device);
}

/// Returns the memory for an output: given, or new.
Tensor output_in(const Tensor &given, const ParamRecord &p, Extents shape, Device device) {
  Tensor out = fitting(given, p, shape);
  if (!out) return new_output(p, shape, device);
  if (p.fill == Fill::zero) out.set_zero();
  return out;
}

}  // namespace

std::vector<Tensor> make_outputs(const LoadedKernel &kernel, std::span<const int64_t> out_extents,
                                 Invocation &call, std::span<const Tensor> given) {
  std::vector<Tensor> outputs;
  const Artifact &a = kernel.artifact();
  outputs.reserve(kernel.output_count());
  size_t at = 0;
  for (uint32_t i = 0; i < a.params.size(); ++i) {
    const ParamRecord &p = a.params[i];
    if (p.mode != ParamMode::out) continue;
    Extents shape = out_extents.subspan(at, p.rank);
    const Tensor *in = given.empty() ? nullptr : given_for(a, i, given);
    outputs.push_back(in ? output_in(*in, p, shape, call.device) : new_output(p, shape, call.device));
    call.data.push_back(outputs.back().data());
    at += p.rank;
  }
  return outputs;
}

/// Returns the results of a kernel: outputs, and arguments that it changed.
static std::vector<Tensor> pick_results(const Artifact &a, const std::vector<Tensor> &outputs,
                                        std::span<const Operand> operands) {
  std::vector<Tensor> results;
  for (uint32_t param : a.results) {
    size_t number = 0;
    for (uint32_t i = 0; i < param; ++i) number += a.params[i].mode == ParamMode::out;
    const ParamRecord &p = a.params[param];
    results.push_back(p.mode == ParamMode::out ? outputs[number]
                                               : std::get<Tensor>(operands[static_cast<size_t>(p.arg)]));
  }
  return results;
}

LoopKernel::LoopKernel(std::string name, std::string text, std::string path, CodegenOptions options)
    : name_(std::move(name)), source_{std::move(text), std::move(path), 1, {}}, options_(options) {}

std::shared_ptr<const LoadedKernel> LoopKernel::obtain(const Request &r, std::unique_lock<std::mutex> &lock) {
  // Other threads may call this kernel while one of them compiles, or records: a recorder waits for Python's
  // lock, which a thread that waits for this kernel may hold.
  auto unlocked = [&](const std::function<void()> &body) {
    lock.unlock();
    wait_for(body);
    lock.lock();
  };
  auto recorded = [&](std::shared_ptr<const LoadedKernel> kernel) {
    if (auto told = process_jit().recorder()) unlocked([&] { (*told)(r, source_); });
    return kernel;
  };
  if (auto kernel = process_jit().find(r)) return recorded(std::move(kernel));
  Compiled made = compiler_.get(key_text(r), [&] { return process_jit().compile(r, source_); }, unlocked);
  if (made.ran_out_of_memory()) throw std::bad_alloc();
  if (!made.kernel) throw ResolvedError(std::move(made.errors));
  return recorded(std::move(made.kernel));
}

/// Returns the specialization for the types of a call; compiles it if there is none. References stay valid:
/// specializations are never removed.
Version &LoopKernel::find_version(const Invocation &call, std::unique_lock<std::mutex> &lock) {
  auto known = [&]() -> Version * {
    for (const auto &v : versions_)
      if (v->serves(call.words)) return v.get();
    return nullptr;
  };
  if (Version *v = known()) return *v;
  auto v = std::make_unique<Version>();
  v->set_calls(call.words);
  v->request.name = name_;
  v->request.identity = hash_bytes(cat("text ", source_.text)).text();
  v->request.signature = signature_of(call.words);
  v->request.options = options_;
  v->request.places = {{source_.path, source_.first_line}};
  set_target(v->request, call.device);
  v->main = obtain(v->request, lock);
  for (const ParamRecord &p : v->main->artifact().params) v->has_inout |= p.mode == ParamMode::inout;
  // obtain() releases the lock while it compiles, so another thread may have added the same specialization
  if (Version *made_meanwhile = known()) return *made_meanwhile;
  return *versions_.emplace_back(std::move(v));
}

void LoopKernel::compare_written(const Version &v, Invocation &call,
                                 std::span<const Operand> operands) const {
  if (!v.has_inout) return;
  CallArrays arrays;
  for (const Operand &o : operands) {
    const auto *t = std::get_if<Tensor>(&o);
    arrays.arguments.push_back(t ? t->array() : ArrayView{});
  }
  if (auto refused = check_written(call, arrays, v.main->artifact(), name_))
    throw_value_error(refused->help.empty() ? refused->message : cat(refused->message, "; ", refused->help));
}

std::vector<Tensor> LoopKernel::operator()(std::span<const Operand> operands,
                                           std::span<const Tensor> outputs) {
  try {
    return run(operands, outputs);
  } catch (ResolvedError &e) {
    if (e.places.empty()) e.path = source_.path;  // else a fault of an earlier call
    throw;
  }
}

std::vector<Tensor> LoopKernel::run(std::span<const Operand> operands, std::span<const Tensor> given) {
  std::unique_lock lock(mutex_);
  if (!parameters_) parameters_ = parameter_names(source_).size();
  if (*parameters_ != operands.size())
    throw_type_error(cat("kernel '", name_, "' takes ", counted(*parameters_, "argument"), ", but ",
                         operands.size(), " were given"));
  if (operands.size() > max_args)
    throw_type_error(cat("kernel '", name_, "': a kernel has at most ", max_args, " parameters"));
  Invocation call;
  for (const Operand &o : operands) add_operand(call, o);
  call.add_device_word();
  Version *v = &find_version(call, lock);
  compare_written(*v, call, operands);
  if (call.same_views && !call.in_source_order) {  // same views are compiled as one buffer
    call.add_alias_words(operands.size(), 0);
    v = &find_version(call, lock);
  }
  auto need = [&](Body body) {
    auto &slot = body == Body::plain ? v->plain : v->overlapping;
    if (slot) return true;
    auto kernel = obtain(v->request_of(body), lock);
    if (!slot) slot = std::move(kernel);  // runs without the lock use it as long as the version exists
    return true;
  };
  Entry entry;
  Resolved error;
  if (enter_call(*v, call.sizes(), call.in_source_order, need, entry, error) != Entered::ok)
    throw ResolvedError({error});
  lock.unlock();

  std::vector<Tensor> outputs = make_outputs(*entry.kernel, entry.out_extents, call, given);
  CallWords words = call.abi_words(entry);
  // the runner may be another thread, which has neither the stream nor the faults of this one
  if (call.device.kind != DeviceKind::cpu) words.stream = stream_of_thread(call.device);
  RunResult r = run_by_runner(*entry.kernel, entry.work, words);
  // before the status is tested, because a failed run may have written some elements
  for (const ParamRecord &p : entry.kernel->artifact().params)
    if (p.mode == ParamMode::inout)
      std::get<Tensor>(operands[static_cast<size_t>(p.arg)]).storage().note_write();
  if (r.status == 1) throw ResolvedError({fault_error(*entry.kernel, call.extents, r.fault)});
  if (r.status == 3) throw std::bad_alloc();
  if (r.status == 2) throw WaitInterrupted();
  return pick_results(entry.kernel->artifact(), outputs, operands);
}

}  // namespace kw
