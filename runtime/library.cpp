// dlopen and the registry.
#include "runtime/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/cpu/elf_sections.h"
#include "runtime/op_error.h"
#include "runtime/registry.h"
#include "support/hash.h"
#include "support/text.h"

namespace kw {

namespace {

/// What the loader says, of a file by the name that its user knows.
std::string loader_error(const std::string &path, const std::string &shown) {
  const char *said = dlerror();
  std::string text = said ? said : cat(shown, ": the loader does not say why");
  return text.starts_with(path) ? shown + text.substr(path.size()) : text;
}

/// A file in memory that nobody can change, or else a file in the folder for temporary files that has lost
/// its name.
int write_image(std::string_view image) {
  constexpr unsigned executable = 0x10;  // MFD_EXEC, which systems before Linux 6.3 do not know
  int file = ::memfd_create("kernelwright", MFD_CLOEXEC | MFD_ALLOW_SEALING | executable);
  if (file < 0) file = ::memfd_create("kernelwright", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool in_memory = file >= 0;
  if (!in_memory) {
    const char *folder = std::getenv("TMPDIR");
    std::string name = cat(folder && *folder ? folder : "/tmp", "/kernelwright.XXXXXX");
    file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) ::unlink(name.c_str());
  }
  if (file < 0) throw_runtime_error(cat("there is no file for a library: ", std::strerror(errno)));
  while (!image.empty()) {
    ssize_t n = ::write(file, image.data(), image.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      std::string why = std::strerror(errno);
      ::close(file);
      throw_runtime_error(cat("a library cannot be written for loading: ", why));
    }
    image.remove_prefix(static_cast<size_t>(n));
  }
  if (in_memory) ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return file;
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

std::shared_ptr<Library> Library::load(const std::string &path, const std::string &shown, int &image) {
  // without a device its functions return as if all was well and compute nothing
  if (has_section(path, ".nv_fatbin"))
    throw OpError(OpError::Kind::device,
                  cat(shown, " holds CUDA code and there is no CUDA device that runs it"));
  static std::mutex mutex;  // what is pending after a load was declared by that library
  std::unique_lock lock(mutex);
  void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  std::string problem = handle ? "" : loader_error(path, shown);
  Registration rows = take_pending();
  lock.unlock();
  if (!handle) throw_runtime_error(problem);
  std::shared_ptr<Library> library(new Library(path, shown, handle));
  library->image_ = std::exchange(image, -1);
  hold_all(library, rows);
  if (!rows.empty()) registry().commit(std::move(rows));
  return library;
}

std::shared_ptr<Library> Library::open(const std::string &path) {
  // a name without a folder would be searched for among the system's libraries
  std::string file = path.find('/') == std::string::npos ? cat("./", path) : path;
  int no_image = -1;
  return load(file, file, no_image);
}

std::shared_ptr<Library> Library::open_image(std::string_view image, const std::string &shown) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Library>> loaded;  // by contents
  std::scoped_lock lock(mutex);
  std::erase_if(loaded, [](const auto &l) { return l.second.expired(); });
  std::weak_ptr<Library> &known = loaded[hash_bytes(image).text()];
  if (auto library = known.lock()) return library;
  struct File {
    int number;
    ~File() {
      if (number >= 0) ::close(number);
    }
  } file{write_image(image)};
  auto library = load(cat("/proc/self/fd/", file.number), shown, file.number);
  known = library;
  return library;
}

Library::~Library() {
  dlclose(handle_);
  if (image_ < 0) return;
  // the loader knows libraries by their names: this one is not used for another as long as this is loaded
  if (void *stays = dlopen(path_.c_str(), RTLD_LAZY | RTLD_NOLOAD))
    dlclose(stays);
  else
    ::close(image_);
}

std::string Library::problem_of(const char *symbol) const {
  dlerror();
  void *found = dlsym(handle_, symbol);
  if (!found) return loader_error(path_, shown_);
  Dl_info info;
  const ElfW(Sym) *entry = nullptr;
  link_map *owner = nullptr, *self = nullptr;
  bool known = dladdr1(found, &info, reinterpret_cast<void **>(&owner), RTLD_DL_LINKMAP) != 0 &&
               dlinfo(handle_, RTLD_DI_LINKMAP, &self) == 0;
  if (known && owner != self)
    return cat(shown_, ": ", symbol, " is of another library (", info.dli_fname, ")");
  // of several names for an address the loader may tell one of another kind
  if (dladdr1(found, &info, reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&entry)), RTLD_DL_SYMENT) &&
      entry && ELF64_ST_TYPE(entry->st_info) == STT_OBJECT)
    return cat(shown_, ": ", symbol, " is data and not a function");
  return {};
}

void *Library::find(const char *symbol) const {
  return problem_of(symbol).empty() ? dlsym(handle_, symbol) : nullptr;
}

void *Library::need(const char *symbol) const {
  if (std::string problem = problem_of(symbol); !problem.empty()) throw_runtime_error(problem);
  return dlsym(handle_, symbol);
}

}  // namespace kw
