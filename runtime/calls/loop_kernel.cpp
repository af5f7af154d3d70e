// Operands → words, extents, strides and pointers → a specialization → a run → results.
#include "runtime/calls/loop_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/launch.h"
#include "runtime/op_error.h"
#include "runtime/versions/faults.h"
#include "support/text.h"

namespace kw {

/// One call of the kernel.
struct LoopKernel::Call : OperandWords {
  explicit Call(std::span<const Operand> operands) : OperandWords(operands), operands(operands) {}
  std::span<const Operand> operands;
  bool overlaps = false;  ///< a written tensor shares memory with another argument

  const Tensor &tensor(size_t i) const { return std::get<Tensor>(operands[i]); }
};

/// Appends one tensor. Only strides that its stride class does not determine are passed to the kernel.
void OperandWords::add(const Tensor &t) {
  StrideClass c = t.stride_class();
  words.push_back(argument_word(ArgKind::tensor, t.dtype(), t.rank(), c));
  data.push_back(t.data());
  extents.append(t.shape());
  if (c != StrideClass::contiguous)
    strides.append(t.strides().first(c == StrideClass::inner_unit ? t.rank() - 1 : t.rank()));
}

OperandWords::OperandWords(std::span<const Tensor> tensors) {
  for (const Tensor &t : tensors) add(t);
}

OperandWords::OperandWords(std::span<const Operand> operands) {
  for (const Operand &o : operands) {
    if (const auto *t = std::get_if<Tensor>(&o)) {
      add(*t);
      continue;
    }
    uint64_t bits = 0;
    DType dtype = DType::b1;
    if (const auto *truth = std::get_if<bool>(&o)) bits = *truth;
    if (const auto *i = std::get_if<int64_t>(&o)) bits = static_cast<uint64_t>(*i), dtype = DType::i64;
    if (const auto *d = std::get_if<double>(&o)) bits = std::bit_cast<uint64_t>(*d), dtype = DType::f64;
    words.push_back(argument_word(ArgKind::weak_scalar, dtype, 0, StrideClass::contiguous));
    scalars.push_back(bits);
  }
}

/// Returns the tensor given for the result that a parameter is; an empty one if none is given.
static Tensor given_for(const Artifact &a, uint32_t param, std::span<const Tensor> given) {
  auto results = std::span(a.results).first(std::min(a.results.size(), given.size()));
  auto found = std::ranges::find(results, param);
  return found == results.end() ? Tensor() : given[static_cast<size_t>(found - results.begin())];
}

/// Returns a given tensor in the shape of an output; an empty one if it does not fit.
static Tensor fitting(const Tensor &given, const ParamRecord &p, Extents shape) {
  if (!given || given.dtype() != p.dtype || !given.is_contiguous()) return {};
  if (std::ranges::equal(given.shape(), shape)) return given;
  int64_t size = 1;
  for (int64_t e : shape) size *= e;
  return size == given.size() ? given.reshaped(shape) : Tensor();
}

std::vector<Tensor> make_outputs(const LoadedKernel &kernel, std::span<const int64_t> out_extents,
                                 OperandWords &call, std::span<const Tensor> given) {
  std::vector<Tensor> outputs;
  const auto &params = kernel.artifact().params;
  outputs.reserve(static_cast<size_t>(
      std::ranges::count_if(params, [](const ParamRecord &p) { return p.mode == ParamMode::out; })));
  size_t at = 0;
  for (uint32_t i = 0; i < params.size(); ++i) {
    const ParamRecord &p = params[i];
    if (p.mode != ParamMode::out) continue;
    Extents shape = out_extents.subspan(at, p.rank);
    Tensor out = fitting(given_for(kernel.artifact(), i, given), p, shape);
    if (!out)
      out = p.fill == Fill::zero ? Tensor::zeros(p.dtype, shape) : Tensor::empty(p.dtype, shape);
    else if (p.fill == Fill::zero)
      std::memset(out.data(), 0, static_cast<size_t>(out.bytes()));
    call.data.push_back(out.data());
    outputs.push_back(std::move(out));
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

namespace {

/// Returns whether two elements of a tensor may share memory. Sorted by stride, each dimension must step over
/// the range of all smaller ones.
bool may_overlap_itself(const Tensor &t) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // (stride, extent)
  for (size_t d = 0; d < t.rank(); ++d)
    if (t.shape()[d] > 1) dims.emplace_back(std::abs(t.strides()[d]), t.shape()[d]);
  std::sort(dims.begin(), dims.end());
  int64_t reach = 1;
  bool nested = t.size() != 0;
  for (auto [stride, extent] : dims) nested = nested && stride >= reach, reach += stride * (extent - 1);
  return !nested && t.size() != 0;
}

/// Returns whether the address ranges of two tensors intersect. The answer is conservative: interleaved views
/// intersect without sharing an element.
bool meet(const Tensor &a, const Tensor &b) {
  auto x = a.address_range(), y = b.address_range();
  return !x.empty() && !y.empty() && x.data() < y.data() + y.size() && y.data() < x.data() + x.size();
}

}  // namespace

LoopKernel::LoopKernel(std::string name, std::string text, std::string path, CodegenOptions options)
    : name_(std::move(name)), source_{std::move(text), std::move(path), 1, {}}, options_(options) {}

std::shared_ptr<const LoadedKernel> LoopKernel::obtain(const Request &r, std::unique_lock<std::mutex> &lock) {
  if (auto kernel = process_jit().find(r)) return kernel;
  // other threads may call this kernel while one of them compiles
  auto unlocked = [&](const std::function<void()> &body) {
    lock.unlock();
    wait_for(body);
    lock.lock();
  };
  Compiled made = compiler_.get(key_text(r), [&] { return process_jit().compile(r, source_); }, unlocked);
  if (made.ran_out_of_memory()) throw std::bad_alloc();
  if (!made.kernel) throw ResolvedError(std::move(made.errors));
  return std::move(made.kernel);
}

/// Returns the specialization for the types of a call; compiles it if there is none. References stay valid:
/// specializations are never removed.
LoopKernel::Known &LoopKernel::find_version(const Call &call, std::unique_lock<std::mutex> &lock) {
  auto known = [&]() -> Known * {
    for (const auto &v : versions_)
      if (std::ranges::equal(v->words, call.words) && v->mode == execution_mode()) return v.get();
    return nullptr;
  };
  if (Known *v = known()) return *v;
  auto v = std::make_unique<Known>();
  v->words.assign(call.words.begin(), call.words.end());
  v->mode = execution_mode();
  v->request.name = name_;
  v->request.identity = cat("text ", source_.text);
  v->request.signature = signature_of(call.words);
  v->request.options = options_;
  set_present_target(v->request);
  v->main = obtain(v->request, lock);
  for (const ParamRecord &p : v->main->artifact().params) v->has_inout |= p.mode == ParamMode::inout;
  // obtain() releases the lock while it compiles, so another thread may have added the same specialization
  if (Known *made_meanwhile = known()) return *made_meanwhile;
  return *versions_.emplace_back(std::move(v));
}

/// Throws OpError for a written argument that is read-only or overlaps itself. Sets `call.overlaps` if it
/// intersects another argument.
void LoopKernel::check_written(const Known &v, Call &call) const {
  for (const ParamRecord &p : v.main->artifact().params) {
    if (p.mode != ParamMode::inout) continue;
    auto number = static_cast<size_t>(p.arg);
    const Tensor &written = call.tensor(number);
    if (!written.writable())
      throw_value_error(cat("argument '", p.name, "' of kernel '", name_, "' is written but read-only"));
    if (may_overlap_itself(written))
      throw_value_error(cat("argument '", p.name, "' of kernel '", name_,
                            "' is written but several of its elements share memory"));
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const auto *other = std::get_if<Tensor>(&call.operands[i]);
      call.overlaps |= i != number && other && meet(written, *other);
    }
  }
}

/// Chooses the body for a call and copies the data that the run needs, so that the run itself needs no lock.
/// Throws ResolvedError if the entry program refuses the shapes.
LoopKernel::Entry LoopKernel::enter_call(Known &v, const Call &call, std::unique_lock<std::mutex> &lock) {
  auto need_plain = [&] {
    if (!v.plain) v.plain = obtain(v.request_of(Body::plain), lock);
    return true;
  };
  Resolved error;
  if (call.overlaps) {  // runs serially and in source order, even if no element is shared
    if (!v.overlapping) v.overlapping = obtain(v.request_of(Body::overlapping), lock);
    EntryResult r;
    if (!enter(*v.overlapping, call.sizes(), r, error)) throw ResolvedError({error});
    return {v.overlapping, std::move(r.extents), r.workspace, r.work};
  }
  if (!v.knows(call.sizes()) && enter_shape(v, call.sizes(), need_plain, error) == Entered::refused)
    throw ResolvedError({error});
  return {v.use_plain ? v.plain : v.main, v.out_extents, v.workspace, v.work};
}

std::vector<Tensor> LoopKernel::operator()(std::span<const Operand> operands,
                                           std::span<const Tensor> outputs) {
  try {
    return run(operands, outputs);
  } catch (ResolvedError &e) {
    e.path = source_.path;
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
  Call call(operands);
  Known &v = find_version(call, lock);
  check_written(v, call);
  Entry entry = enter_call(v, call, lock);
  lock.unlock();

  std::vector<Tensor> outputs = make_outputs(*entry.kernel, entry.out_extents, call, given);
  call.extents.append(call.strides);
  RunResult r = run_by_runner(*entry.kernel, entry.work,
                              {call.data.data(), call.extents.data(), call.scalars.data(), entry.workspace});
  // before the status is tested, because a failed run may have written some elements
  for (const ParamRecord &p : entry.kernel->artifact().params)
    if (p.mode == ParamMode::inout) call.tensor(static_cast<size_t>(p.arg)).storage().note_write();
  if (r.status == 1) throw ResolvedError({fault_error(*entry.kernel, call.extents, r.fault)});
  if (r.status == 3) throw std::bad_alloc();
  if (r.status == 2) throw_runtime_error(cat("the run of kernel '", name_, "' was cancelled"));
  return pick_results(entry.kernel->artifact(), outputs, operands);
}

}  // namespace kw
