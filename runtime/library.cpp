// dlopen and the registry.
#include "runtime/library.h"

#include <dlfcn.h>

#include <mutex>

#include "runtime/cpu/elf_sections.h"
#include "runtime/op_error.h"
#include "runtime/registry.h"
#include "support/text.h"

namespace kw {

namespace {

std::string loader_error() {
  const char *text = dlerror();
  return text ? text : "the loader does not say why";
}

/// A function of the library, which stays loaded as long as anything holds the function.
template <class R, class... Args>
void hold(const std::shared_ptr<Library> &library, std::function<R(Args...)> &f) {
  if (!f) return;
  f = [library, code = std::move(f)](Args... args) { return code(std::forward<Args>(args)...); };
}

void hold_all(const std::shared_ptr<Library> &library, Registration &rows) {
  for (OpDef &op : rows.ops) {
    hold(library, op.infer);
    for (OpAttr &a : op.attrs) hold(library, a.complaint);
  }
  for (KernelDef &k : rows.kernels) hold(library, k.run), hold(library, k.predicate.holds);
  for (GradDef &g : rows.grads) hold(library, g.run);
}

}  // namespace

std::shared_ptr<Library> Library::open(const std::string &path, const std::string &shown) {
  // a name without a folder would be searched for among the system's libraries
  std::string file = path.find('/') == std::string::npos ? cat("./", path) : path;
  // without a device its functions return as if all was well and compute nothing
  if (has_section(file, ".nv_fatbin"))
    throw OpError(OpError::Kind::device, cat(shown.empty() ? path : shown,
                                             " holds CUDA code and there is no CUDA device that runs it"));
  static std::mutex mutex;  // what is pending after a load was declared by that library
  std::unique_lock lock(mutex);
  void *handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  std::string problem = handle ? "" : loader_error();
  Registration rows = take_pending();
  lock.unlock();
  if (!handle) throw_runtime_error(problem);
  std::shared_ptr<Library> library(new Library(path, handle));
  hold_all(library, rows);
  if (!rows.empty()) registry().commit(std::move(rows));
  return library;
}

Library::~Library() { dlclose(handle_); }

void *Library::find(const char *symbol) const {
  dlerror();
  return dlsym(handle_, symbol);
}

void *Library::need(const char *symbol) const {
  void *found = find(symbol);
  if (!found) throw_runtime_error(loader_error());
  return found;
}

}  // namespace kw
