// Loads libraries with dlopen and registers their operators.
#include "runtime/aot/library.h"

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

#include "runtime/aot/elf_sections.h"
#include "runtime/calls/call.h"
#include "runtime/calls/registry.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "runtime/op_error.h"
#include "runtime/resolved_error.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the loader's message, with the name by which the user knows the file.
std::string loader_error(const std::string &path, const std::string &shown) {
  const char *said = dlerror();
  std::string text = said ? said : cat(shown, ": the loader does not say why");
  return text.starts_with(path) ? shown + text.substr(path.size()) : text;
}

/// Writes the bytes to a sealed file in memory or, if there is none, to an unlinked file in the folder for
/// temporary files. Returns its descriptor.
int write_image(std::string_view image) {
  constexpr unsigned executable = 0x10;  // MFD_EXEC, unknown to systems before Linux 6.3
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
  if (!write_all(file, image)) {
    std::string why = std::strerror(errno);
    ::close(file);
    throw_runtime_error(cat("a library cannot be written for loading: ", why));
  }
  if (in_memory) ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return file;
}

/// Duplicates the file to a descriptor whose name is new to the loader. The loader treats files of one name
/// as one library, and a program may have closed the file of a library that is still loaded.
int name_image(int file) {
  while (void *other = dlopen(cat("/proc/self/fd/", file).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(other);
    int next = ::fcntl(file, F_DUPFD_CLOEXEC, file + 1);
    ::close(file);
    if (next < 0) throw_runtime_error(cat("there is no file for a library: ", std::strerror(errno)));
    file = next;
  }
  return file;
}

/// The location of an address: in the segments of a library, in its code, or elsewhere.
struct Place {
  void *address;
  link_map *library = nullptr;
  bool is_inside = false, is_code = false;
};

/// Visitor of dl_iterate_phdr: searches the segments of the library for the address and stops there.
int look_for(dl_phdr_info *info, size_t, void *of) {
  auto &place = *static_cast<Place *>(of);
  if (info->dlpi_addr != place.library->l_addr || std::strcmp(info->dlpi_name, place.library->l_name) != 0)
    return 0;
  auto at = reinterpret_cast<uintptr_t>(place.address);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || at < begin || at - begin >= segment.p_memsz) continue;
    place.is_inside = true;
    place.is_code = (segment.p_flags & PF_X) != 0;
  }
  return 1;
}

/// Wraps a function of the library, so that the library stays loaded while the function is held.
template <class R, class... Args>
void hold(const std::shared_ptr<Library> &library, std::function<R(Args...)> &f) {
  if (!f) return;
  f = [library, code = std::move(f)](Args... args) { return code(std::forward<Args>(args)...); };
}

/// Makes every function in the rows keep the library loaded.
void hold_all(const std::shared_ptr<Library> &library, Registration &rows) {
  for (OpDef &op : rows.ops) {
    hold(library, op.check), hold(library, op.infer);
    for (OpAttr &a : op.attrs) hold(library, a.complaint);
  }
  for (KernelDef &k : rows.kernels) {
    if (library->is_for_gpu() && k.run) {
      k.run = [library, run = std::move(k.run)](KernelContext &x) {
        library->need_code_for(x.call.device);
        run(x);
      };
    } else {
      hold(library, k.run);
    }
    hold(library, k.predicate.holds);
    hold(library, k.workspace), hold(library, k.make_state);
  }
  for (GradDef &g : rows.grads) hold(library, g.run);
}

}  // namespace

std::shared_ptr<Library> Library::load(const std::string &path, const std::string &shown) {
  // without a device its functions return success and compute nothing
  std::optional<SectionPlace> for_gpus = find_section(path, ".nv_fatbin");
  if (for_gpus && !find_driver())
    throw OpError(OpError::Kind::device,
                  cat(shown, " holds CUDA code and there is no CUDA device that runs it"));
  static std::mutex mutex;  // one load at a time: rows pending after a load come from that library
  std::unique_lock lock(mutex);
  void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  std::string problem = handle ? "" : loader_error(path, shown);
  Registration rows = take_pending();
  lock.unlock();
  if (!handle) throw_runtime_error(problem);
  std::vector<GpuCode> code = for_gpus ? gpu_code_in(path, *for_gpus) : std::vector<GpuCode>{};
  bool is_for_gpu = for_gpus.has_value();
  std::shared_ptr<Library> library(new Library(path, shown, handle, is_for_gpu, std::move(code)));
  hold_all(library, rows);
  if (!rows.empty()) registry().commit(std::move(rows));
  return library;
}

std::shared_ptr<Library> Library::open(const std::string &path) {
  // a name without a folder would be searched among the system's libraries
  std::string file = path.find('/') == std::string::npos ? cat("./", path) : path;
  return load(file, file);
}

std::shared_ptr<Library> Library::open_image(std::string_view image, const std::string &shown) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Library>> loaded;  // by contents of the file
  std::scoped_lock lock(mutex);
  std::erase_if(loaded, [](const auto &l) { return l.second.expired(); });
  std::weak_ptr<Library> &known = loaded[hash_bytes(image).text()];
  if (auto library = known.lock()) return library;
  int file = name_image(write_image(image));
  try {
    auto library = load(cat("/proc/self/fd/", file), shown);
    ::close(file);
    known = library;
    return library;
  } catch (...) {
    ::close(file);
    throw;
  }
}

Library::~Library() { dlclose(handle_); }

void Library::need_code_for(Device device) const {
  if (device.kind != DeviceKind::cuda || gpu_code_.empty()) return;
  int capability = cuda_device(device.index).compute_capability();
  if (can_run(gpu_code_, capability)) return;
  Resolved e;
  e.code = Code::E501;
  e.message = cat(shown_, " holds CUDA code for ", gpu_code_text(gpu_code_), ", and ", device_text(device),
                  " is an sm_", capability, ", which runs none of it");
  e.help = {cat("compile it with -gencode arch=compute_", capability, ",code=[sm_", capability, ",compute_",
                capability, "]")};
  throw ResolvedError({e});
}

std::string Library::problem_of(const char *symbol) const {
  // clears the error of an earlier call, so that the message is about this one
  dlerror();
  Place found{dlsym(handle_, symbol)};
  if (!found.address) return loader_error(path_, shown_);
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &found.library) != 0) return loader_error(path_, shown_);
  dl_iterate_phdr(look_for, &found);
  if (found.is_code) return {};
  Dl_info info;
  bool is_elsewhere = !found.is_inside && dladdr(found.address, &info) && info.dli_fname;
  return is_elsewhere ? cat(shown_, ": ", symbol, " is of another library (", info.dli_fname, ")")
                      : cat(shown_, ": ", symbol, " is data and not a function");
}

void *Library::find(const char *symbol) const {
  return problem_of(symbol).empty() ? dlsym(handle_, symbol) : nullptr;
}

void *Library::need(const char *symbol) const {
  if (std::string problem = problem_of(symbol); !problem.empty()) throw_runtime_error(problem);
  return dlsym(handle_, symbol);
}

}  // namespace kw
