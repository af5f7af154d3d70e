// Calls of ahead-of-time kernels: argument arrays, workspaces, errors.
#include "runtime/aot/aot_kernel.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/aot/aot_extra.h"
#include "runtime/op_error.h"
#include "support/files.h"
#include "support/fork_mutex.h"
#include "support/text.h"

namespace kw {

namespace {

// The functions of MindSpore's interface. The last argument is `extra`, the object of AotExtraApi.
using Run = int (*)(int, void **, int *, int64_t **, const char **, void *, void *);
using Init = int (*)(int *, int64_t **, const char **, void *);
using InferShape = std::vector<int64_t> (*)(int *, int64_t **, void *);
using InferShapes = std::vector<std::vector<int64_t>> (*)(int *, int64_t **, void *);
using InferType = int (*)(std::vector<int>, void *);
using InferTypes = std::vector<int> (*)(std::vector<int>, void *);

/// MindSpore's type numbers.
constexpr std::pair<DType, int> type_ids[] = {
    {DType::b1, 30},  {DType::i8, 32},  {DType::i16, 33}, {DType::i32, 34}, {DType::i64, 35},
    {DType::u8, 37},  {DType::u16, 38}, {DType::u32, 39}, {DType::u64, 40}, {DType::f16, 42},
    {DType::f32, 43}, {DType::f64, 44}, {DType::bf16, 45}};

/// Returns whether a library uses std::string from before C++11, by the names of the string functions that it
/// uses.
bool has_old_strings(std::string_view bytes) {
  bool is_new = bytes.find("NSt7__cxx1112basic_string") != std::string::npos;
  return !is_new && (bytes.find("_ZNSs") != std::string::npos || bytes.find("_ZNKSs") != std::string::npos ||
                     bytes.find("ESs") != std::string::npos);
}

/// The argument arrays of the interface for some tensors. Shapes are padded with ones, for kernels that read
/// past the end.
struct Arguments {
  std::vector<void *> params;
  std::vector<int> ndims;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t *> shape_pointers;
  std::vector<const char *> dtypes;

  Arguments(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    size_t count = inputs.size() + outputs.size();
    for (auto tensors : {inputs, outputs})
      for (const Tensor &t : tensors) {
        params.push_back(t.data());
        ndims.push_back(static_cast<int>(t.rank()));
        std::vector<int64_t> shape(t.shape().begin(), t.shape().end());
        shape.resize(std::max({shape.size(), count, size_t{8}}), 1);
        shapes.push_back(std::move(shape));
        dtypes.push_back(numpy_name(t.dtype()).data());  // string literals, so they end with a 0
      }
    for (auto &shape : shapes) shape_pointers.push_back(shape.data());
  }
};

}  // namespace

/// The state of one kernel. The attributes are looked up while the library's functions run.
struct AotKernel::State {
  std::string path, name;
  Attrs attrs;
  ForkMutex mutex;  // one call at a time, because libraries may rely on it
  std::shared_ptr<Library> library;
  Run run = nullptr;
  Init init = nullptr;
  void *infer_shape = nullptr, *infer_type = nullptr;
  AotAttrSource source{};
  const AotExtraApi *api = nullptr;
  void *extra = nullptr;
  /// The tensors of the last call of init.
  struct Tensors {
    std::vector<std::vector<int64_t>> shapes;
    std::vector<int> ranks;
    std::vector<const char *> dtypes;
    bool operator==(const Tensors &) const = default;
  };
  std::optional<Tensors> prepared;
  std::string missing;  ///< name of the attribute that was requested but is missing

  const Attr *attr(const char *of) const { return find_attr(attrs, of); }
  bool is_for_gpu() const { return library && library->is_for_gpu(); }
  std::string_view target() const { return is_for_gpu() ? "GPU" : "CPU"; }  ///< in MindSpore's words

  /// Runs a user's function; converts what it throws to an error that names it.
  template <class F>
  auto guarded(F &&f) {
    std::string what;
    try {
      return f();
    } catch (const AotMissingAttr &) {
      throw_runtime_error(cat("For '", name, "' of ", path, ", there is no attribute called ", missing,
                              "! It has ", attr_names()));
    } catch (const std::exception &e) {
      what = e.what();
    } catch (...) {
      what = "an exception that is no std::exception";
    }
    throw_runtime_error(cat("For 'Custom' on ", target(),
                            ", operator failed when executing user defined file ", path,
                            "! Error message is ", what));
  }

  /// Lists the attributes of the kernel for a message.
  std::string attr_names() const {
    std::vector<std::string> names;
    for (const auto &[of, value] : attrs) names.push_back(of);
    return names.empty() ? "none" : join_text(names, ", ");
  }

  /// Throws OpError, in MindSpore's words, if a function returned another value than 0.
  void check(int status, const std::string &function) const {
    if (status)
      throw_runtime_error(cat(
          "Return value from ", target(), " AOT kernel(", path, ")'s function(", function, ") is ", status,
          ". Any return value not equal to 0 will be treated as user defined error code and we"
          " will terminate execution. If termination is not your purpose, please set return "
          "value to 0."));
  }

  /// Calls the library's init function when shapes, ranks or dtypes differ from those of its last call.
  void prepare(Arguments &a) {
    Tensors now{a.shapes, a.ndims, a.dtypes};
    if (!init || prepared == now) return;
    // if init fails, the next call has to try again
    prepared.reset();
    int status =
        guarded([&] { return init(a.ndims.data(), a.shape_pointers.data(), a.dtypes.data(), extra); });
    check(status, name + "Init");
    prepared = std::move(now);
  }
};

namespace {

/// Recovers the state from the untyped pointer of an AotAttrSource.
AotKernel::State &state_of(void *p) { return *static_cast<AotKernel::State *>(p); }

/// Reports one list of numbers. Each is passed as a float and as an integer, because the receiver knows which
/// one it needs.
void tell_row(const std::vector<Attr> &items, void *to, void (*row)(void *, size_t),
              void (*item)(void *, double, int64_t)) {
  row(to, items.size());
  for (const Attr &a : items) {
    Attr real = a;
    const auto *integer = a.as<int64_t>();
    convert_attr(real, AttrType::real);
    double value = real.as<double>() ? *real.as<double>() : 0;
    item(to, value, integer ? *integer : static_cast<int64_t>(value));
  }
}

/// Reports a list as one row, or a list of lists as one row each. Returns false if the attribute is not a
/// list.
bool tell_rows(void *of, const char *name, void *to, void (*row)(void *, size_t),
               void (*item)(void *, double, int64_t)) {
  const Attr *a = state_of(of).attr(name);
  const auto *items = a ? a->as<std::vector<Attr>>() : nullptr;
  if (!items) return false;
  bool nested = !items->empty() && (*items)[0].as<std::vector<Attr>>();
  if (!nested) {
    tell_row(*items, to, row, item);
    return true;
  }
  for (const Attr &inner : *items)
    if (const auto *list = inner.as<std::vector<Attr>>()) tell_row(*list, to, row, item);
  return true;
}

/// Fills the table of functions through which a library's code requests attributes.
AotAttrSource source_of(AotKernel::State &state) {
  AotAttrSource s{};
  s.of = &state;
  s.has = [](void *of, const char *name) { return state_of(of).attr(name) != nullptr; };
  s.boolean = [](void *of, const char *name, bool *out) {
    const Attr *a = state_of(of).attr(name);
    if (a && a->as<bool>()) *out = *a->as<bool>();
    return a && a->as<bool>();
  };
  s.integer = [](void *of, const char *name, int64_t *out) {
    const Attr *a = state_of(of).attr(name);
    if (a && a->as<int64_t>()) *out = *a->as<int64_t>();
    return a && a->as<int64_t>();
  };
  s.real = [](void *of, const char *name, double *out) {
    const Attr *a = state_of(of).attr(name);
    Attr real = a ? *a : Attr();
    if (!convert_attr(real, AttrType::real)) return false;
    *out = *real.as<double>();
    return true;
  };
  s.text = [](void *of, const char *name) -> const char * {
    const Attr *a = state_of(of).attr(name);
    return a && a->as<std::string>() ? a->as<std::string>()->c_str() : nullptr;
  };
  s.rows = tell_rows;
  s.missing = [](void *of, const char *name) { state_of(of).missing = name; };
  return s;
}

}  // namespace

AotKernel::AotKernel(std::string_view image, std::string path, std::string name, Attrs attrs)
    : state_(std::make_unique<State>()) {
  State &s = *state_;
  s.path = std::move(path), s.name = std::move(name), s.attrs = std::move(attrs);
  if (image.empty() && access(s.path.c_str(), F_OK) != 0)
    throw_runtime_error(cat("For 'Custom' on CPU, couldn't find the AOT binary file: ", s.path));
  s.library = image.empty() ? Library::open(s.path) : Library::open_image(image, s.path);
  try {
    s.run = reinterpret_cast<Run>(s.library->need(s.name.c_str()));
  } catch (const OpError &e) {
    throw_runtime_error(cat("For 'Custom' on ", s.target(), ", error occurs when fetching function '", s.name,
                            "'. Error info: ", e.what()));
  }
  s.init = reinterpret_cast<Init>(s.library->find((s.name + "Init").c_str()));
  s.infer_shape = s.library->find((s.name + "InferShape").c_str());
  s.infer_type = s.library->find((s.name + "InferType").c_str());
  bool old = image.empty() ? has_old_strings(read_file(s.path)) : has_old_strings(image);
  s.api = old ? &aot_extra_old() : &aot_extra_new();
  s.source = source_of(s);
  s.extra = s.api->make(&s.source);
}

AotKernel::~AotKernel() {
  if (!state_->extra) return;
  // while the library is still loaded, because it contains the destructor of the data
  state_->api->destroy_data(state_->extra);
  state_->api->destroy(state_->extra);
}

DeviceKind AotKernel::device() const { return state_->is_for_gpu() ? DeviceKind::cuda : DeviceKind::cpu; }
bool AotKernel::infers_shapes() const { return state_->infer_shape != nullptr; }
bool AotKernel::infers_types() const { return state_->infer_type != nullptr; }

std::vector<std::vector<int64_t>> AotKernel::infer_shapes(std::span<const Tensor> inputs, bool several) {
  State &s = *state_;
  std::scoped_lock lock(s.mutex);
  Arguments a(inputs, {});
  return s.guarded([&]() -> std::vector<std::vector<int64_t>> {
    if (several)
      return reinterpret_cast<InferShapes>(s.infer_shape)(a.ndims.data(), a.shape_pointers.data(), s.extra);
    return {reinterpret_cast<InferShape>(s.infer_shape)(a.ndims.data(), a.shape_pointers.data(), s.extra)};
  });
}

std::vector<DType> AotKernel::infer_types(std::span<const Tensor> inputs, bool several) {
  State &s = *state_;
  std::scoped_lock lock(s.mutex);
  std::vector<int> ids;
  for (const Tensor &t : inputs)
    for (auto [dtype, id] : type_ids)
      if (dtype == t.dtype()) ids.push_back(id);
  std::vector<int> found = s.guarded([&]() -> std::vector<int> {
    if (several) return reinterpret_cast<InferTypes>(s.infer_type)(ids, s.extra);
    return {reinterpret_cast<InferType>(s.infer_type)(ids, s.extra)};
  });
  std::vector<DType> out;
  for (int id : found) {
    const auto *known =
        std::find_if(std::begin(type_ids), std::end(type_ids), [&](auto &t) { return t.second == id; });
    if (known == std::end(type_ids))
      throw_runtime_error(
          cat(s.name, "InferType of ", s.path, " returned ", id, ", which is no type of tensors"));
    out.push_back(known->first);
  }
  return out;
}

void AotKernel::run(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  State &s = *state_;
  std::scoped_lock lock(s.mutex);
  Arguments a(inputs, outputs);
  Device device = inputs.empty() ? outputs.empty() ? Device{} : outputs[0].device() : inputs[0].device();
  s.library->need_code_for(device);
  s.prepare(a);
  std::vector<std::shared_ptr<Storage>> workspaces;
  for (size_t i = 0; i < s.api->workspace_count(s.extra); ++i) {
    constexpr size_t unit = 512;  // room for kernels that request elements instead of bytes
    size_t bytes = std::max(unit, (s.api->workspace(s.extra, i) + unit - 1) / unit * unit);
    workspaces.push_back(Storage::allocate(bytes, false, device));
    a.params.push_back(workspaces.back()->data());
  }
  DeviceStream stream = device_api(device.kind).enter(device, a.params);
  int status = s.guarded([&] {
    return s.run(static_cast<int>(a.params.size()), a.params.data(), a.ndims.data(), a.shape_pointers.data(),
                 a.dtypes.data(), stream.handle, s.extra);
  });
  s.check(status, s.name);
}

}  // namespace kw
