// dlopen and the registry.
#include "runtime/library.h"

#include <dlfcn.h>

#include "runtime/op_error.h"
#include "runtime/registry.h"
#include "support/text.h"

namespace kw {

namespace {

std::string loader_error() {
  const char *text = dlerror();
  return text ? text : "the loader does not say why";
}

}  // namespace

std::shared_ptr<Library> Library::open(const std::string &path) {
  // a name without a folder would be searched for among the system's libraries
  std::string file = path.find('/') == std::string::npos ? cat("./", path) : path;
  void *handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) throw_runtime_error(loader_error());
  std::shared_ptr<Library> library(new Library(path, handle));
  Registration rows = take_pending();
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
