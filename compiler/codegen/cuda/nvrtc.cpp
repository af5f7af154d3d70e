// Finds and opens NVRTC, once.
#include "codegen/cuda/nvrtc.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

using NvrtcProgram = struct NvrtcProgram_st *;

/// The functions of NVRTC that we call, by their names and with the parameters of its documentation.
struct Nvrtc {
  int (*nvrtcVersion)(int *, int *) = nullptr;
  int (*nvrtcGetNumSupportedArchs)(int *) = nullptr;
  int (*nvrtcGetSupportedArchs)(int *) = nullptr;
  int (*nvrtcCreateProgram)(NvrtcProgram *, const char *, const char *, int, const char *const *,
                            const char *const *) = nullptr;
  int (*nvrtcDestroyProgram)(NvrtcProgram *) = nullptr;
  int (*nvrtcCompileProgram)(NvrtcProgram, int, const char *const *) = nullptr;
  int (*nvrtcGetProgramLogSize)(NvrtcProgram, size_t *) = nullptr;
  int (*nvrtcGetProgramLog)(NvrtcProgram, char *) = nullptr;
  int (*nvrtcGetCUBINSize)(NvrtcProgram, size_t *) = nullptr;
  int (*nvrtcGetCUBIN)(NvrtcProgram, char *) = nullptr;
  int (*nvrtcGetPTXSize)(NvrtcProgram, size_t *) = nullptr;
  int (*nvrtcGetPTX)(NvrtcProgram, char *) = nullptr;
  std::string identity;
  bool has_minimal = false;  ///< the option --minimal, from 12.4 on
  int newest_arch = 0;
  std::vector<std::string> looked_at;  ///< places without a usable library
};

std::mutex mutex;  // guards the two variables below
std::vector<std::string> package_folders;
int newest_cuda = 0;  ///< of the driver; 0 if unknown

/// Opens the library's companion, which NVRTC 13 looks for by its name alone: a library that was opened by
/// its path would not find the one beside it.
void open_builtins_beside(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return;
  glob_t found{};
  if (::glob((path.substr(0, slash) + "/libnvrtc-builtins.so.*").c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  ::globfree(&found);
}

/// Returns the places where a library may lie, the best first. A name without a folder is looked for as the
/// loader does.
std::vector<std::string> places() {
  if (const char *given = std::getenv("KW_NVRTC"); given && *given) return {given};
  std::scoped_lock lock(mutex);
  std::vector<std::string> names, folders, out;
  for (const char *major : {"13", "12"})
    // a version is 1000 · major + 10 · minor
    if (!newest_cuda || std::atoi(major) <= newest_cuda / 1000) names.push_back(cat("libnvrtc.so.", major));
  if (const char *home = std::getenv("CUDA_HOME"); home && *home)
    folders.insert(folders.end(), {cat(home, "/lib64"), cat(home, "/lib")});
  folders.insert(folders.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"});
  for (const std::string &p : package_folders)
    for (const char *wheel : {"/nvidia/cu13/lib", "/nvidia/cuda_nvrtc/lib"}) folders.push_back(p + wheel);
  for (const std::string &name : names) out.push_back(name);
  for (const std::string &folder : folders)
    for (const std::string &name : names) out.push_back(cat(folder, "/", name));
  return out;
}

/// Returns the build id of the library that holds an address, in hexadecimal digits; "" if it has none.
std::string build_id_of(const void *address) {
  struct Search {
    uintptr_t address;
    std::string id;
  } search{reinterpret_cast<uintptr_t>(address), {}};
  auto look = [](dl_phdr_info *info, size_t, void *of) {
    Search &s = *static_cast<Search *>(of);
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto &h = info->dlpi_phdr[i];
      uintptr_t begin = info->dlpi_addr + h.p_vaddr;
      holds |= h.p_type == PT_LOAD && s.address >= begin && s.address - begin < h.p_memsz;
    }
    for (int i = 0; holds && i < info->dlpi_phnum; ++i) {
      const auto &h = info->dlpi_phdr[i];
      if (h.p_type != PT_NOTE) continue;
      const char *at = reinterpret_cast<const char *>(info->dlpi_addr + h.p_vaddr), *end = at + h.p_memsz;
      while (at + sizeof(ElfW(Nhdr)) <= end) {
        const auto &note = *reinterpret_cast<const ElfW(Nhdr) *>(at);
        auto padded = [](uint32_t n) { return (n + 3u) & ~3u; };
        const char *text = at + sizeof note + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && text + note.n_descsz <= end)
          for (uint32_t b = 0; b < note.n_descsz; ++b) s.id += hex_digits(static_cast<uint8_t>(text[b]));
        at = text + padded(note.n_descsz);
      }
    }
    return holds ? 1 : 0;
  };
  dl_iterate_phdr(look, &search);
  return search.id;
}

/// Looks up the functions of an open library. Returns false if one is missing.
bool bind(void *library, Nvrtc &out) {
  bool whole = true;
  auto look_up = [&](auto *&function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    whole = whole && function;
  };
  look_up(out.nvrtcVersion, "nvrtcVersion");
  look_up(out.nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  look_up(out.nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs");
  look_up(out.nvrtcCreateProgram, "nvrtcCreateProgram");
  look_up(out.nvrtcDestroyProgram, "nvrtcDestroyProgram");
  look_up(out.nvrtcCompileProgram, "nvrtcCompileProgram");
  look_up(out.nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
  look_up(out.nvrtcGetProgramLog, "nvrtcGetProgramLog");
  look_up(out.nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
  look_up(out.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  look_up(out.nvrtcGetPTXSize, "nvrtcGetPTXSize");
  look_up(out.nvrtcGetPTX, "nvrtcGetPTX");
  int major = 0, minor = 0, count = 0;
  if (!whole || out.nvrtcVersion(&major, &minor) || out.nvrtcGetNumSupportedArchs(&count) || count <= 0)
    return false;
  std::vector<int> archs(static_cast<size_t>(count));
  if (out.nvrtcGetSupportedArchs(archs.data())) return false;
  out.newest_arch = *std::max_element(archs.begin(), archs.end());
  out.has_minimal = std::pair(major, minor) >= std::pair(12, 4);
  out.identity = cat(major, ".", minor, " ", build_id_of(reinterpret_cast<const void *>(out.nvrtcVersion)));
  return true;
}

/// Returns why a file that is there is no usable library, after a colon; "" if it is not there.
std::string why_not_used(const std::string &path, const void *library) {
  if (library) return ": functions of NVRTC are missing in it";
  const char *why = dlerror();
  if (!why || access(path.c_str(), F_OK) != 0) return "";
  std::string_view text = why;
  if (text.starts_with(path)) text.remove_prefix(std::min(text.size(), path.size() + 2));
  return cat(": ", text);
}

/// Opens the first usable library, one that the process has already opened before all others. Without one,
/// `identity` stays empty.
const Nvrtc &open_now() {
  auto &out = *new Nvrtc;
  std::vector<std::string> where = places();
  for (int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL})
    for (const std::string &path : where) {
      if (!(flags & RTLD_NOLOAD)) open_builtins_beside(path);
      void *library = dlopen(path.c_str(), flags);
      if (library && bind(library, out)) return out;
      if (!(flags & RTLD_NOLOAD)) out.looked_at.push_back(cat(path, why_not_used(path, library)));
    }
  return out;
}

/// Counts the threads that compile.
class InUse {
 public:
  InUse() {
    std::scoped_lock lock(mutex_);
    ++users_;
  }
  InUse(const InUse &) = delete;
  ~InUse() {
    std::scoped_lock lock(mutex_);
    if (--users_ == 0) unused_.notify_all();
  }
  static void wait_for_all() {
    std::unique_lock lock(mutex_);
    unused_.wait(lock, [] { return users_ == 0; });
  }

 private:
  static std::mutex mutex_;
  static std::condition_variable unused_;
  static int users_;
};
std::mutex InUse::mutex_;
std::condition_variable InUse::unused_;
int InUse::users_ = 0;

const Nvrtc &nvrtc() {
  static const Nvrtc &library = open_now();
  if (!library.identity.empty()) return library;
  std::vector<std::string> notes;
  for (const std::string &path : library.looked_at) notes.push_back(cat("looked at ", path));
  throw CompileError(
      Diagnostic{Code::E502,
                 {},
                 "CUDA kernels need libnvrtc.so.13 or .12, which was not found",
                 std::move(notes),
                 {"pip install nvidia-cuda-nvrtc, or set KW_NVRTC; kernels in the cache run without it"}});
}

/// Owns a program of NVRTC.
struct Program {
  explicit Program(const std::string &text) {
    failed = nvrtc().nvrtcCreateProgram(&handle, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0;
  }
  ~Program() {
    if (handle) nvrtc().nvrtcDestroyProgram(&handle);
  }
  Program(const Program &) = delete;
  /// Returns bytes of the program by two functions, for their number and for themselves.
  std::string read(int (*size_of)(NvrtcProgram, size_t *), int (*bytes_of)(NvrtcProgram, char *)) const {
    size_t size = 0;
    if (size_of(handle, &size) != 0) return {};
    std::string out(size, '\0');
    if (size && bytes_of(handle, out.data()) != 0) return {};
    return out;
  }
  NvrtcProgram handle = nullptr;
  bool failed = false;
};

/// Removes the zero at the end of a text.
std::string without_end(std::string text) {
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

/// Returns the number that stands before `words` in a line of the log; 0 without these words.
int64_t number_before(std::string_view line, std::string_view words) {
  size_t at = line.find(words);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t n = 0;
  std::from_chars(line.data() + begin, line.data() + at, n);
  return n;
}

}  // namespace

std::vector<std::string> nvrtc_options(std::string_view arch, NvrtcWant want) {
  // Functions without a mark are for the device; products and sums are not contracted, because the IR says
  // where an fma is; the assembler reports registers and spills. Unused words of the prelude are no news.
  std::string given = want == NvrtcWant::ptx ? cat("compute_", arch.substr(3)) : std::string(arch);
  return {cat("--gpu-architecture=", given),
          "-default-device",
          "--std=c++17",
          "--fmad=false",
          "--ptxas-options=-v",
          "--diag-suppress=177,186"};
}

static NvrtcResult attempt(std::string_view text, std::string_view arch, NvrtcWant want,
                           std::string_view definition) {
  InUse whole;
  const Nvrtc &library = nvrtc();
  Program program{std::string(text)};
  std::vector<std::string> options = nvrtc_options(arch, want);
  options.emplace_back(definition);
  std::vector<const char *> words;
  for (const std::string &o : options) words.push_back(o.c_str());
  // Without declarations of the CUDA runtime, which no text of ours uses, each kernel takes 6 ms less of 60
  // (NVRTC 13.0). Not among the options of nvrtc_options: code is the same with it and without.
  if (library.has_minimal) words.push_back("--minimal");
  // line tables for tools of NVIDIA, where the text says which lines
  if (text.find("\n#line ") != std::string_view::npos) words.push_back("--generate-line-info");
  int failed = program.failed ? 1
                              : library.nvrtcCompileProgram(program.handle, static_cast<int>(words.size()),
                                                            words.data());
  NvrtcResult out;
  if (program.handle)
    out.log = without_end(program.read(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog));
  if (!failed)
    out.bytes = want == NvrtcWant::cubin
                    ? program.read(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN)
                    : without_end(program.read(library.nvrtcGetPTXSize, library.nvrtcGetPTX));
  if (failed || out.bytes.empty())
    throw CompileError(Diagnostic{Code::E503,
                                  {},
                                  cat("NVRTC refuses the text of a kernel for ", arch, ":\n", out.log),
                                  {},
                                  {"report it with the output of KW_DEBUG=\"dump:after=all\""}});
  return out;
}

NvrtcResult compile_by_nvrtc(std::string_view text, std::string_view arch, NvrtcWant want) {
  // the log tells of no spills where ptxas of the driver comes later
  if (want == NvrtcWant::ptx) return attempt(text, arch, want, nvrtc_attempts.back());
  NvrtcResult out;
  for (std::string_view definition : nvrtc_attempts) {
    out = attempt(text, arch, want, definition);
    if (!figures_of_log(out.log).spill_bytes) break;
  }
  return out;
}

void wait_for_nvrtc() { InUse::wait_for_all(); }

std::string nvrtc_identity() { return nvrtc().identity; }
int newest_nvrtc_arch() { return nvrtc().newest_arch; }

KernelFigures figures_of_log(std::string_view log) {
  KernelFigures out;
  for (const std::string &line : split_text(log, '\n')) {
    auto note = [&](int64_t &figure, std::string_view words) {
      figure = std::max(figure, number_before(line, words));
    };
    note(out.stack_bytes, " bytes stack frame"), note(out.spill_bytes, " bytes spill stores");
    note(out.shared_bytes, " bytes smem");
    size_t used = line.find("Used ");
    if (used != std::string::npos) note(out.registers, " registers");
  }
  return out;
}

void set_package_folders(std::vector<std::string> folders) {
  std::scoped_lock lock(mutex);
  package_folders = std::move(folders);
}

void set_newest_nvrtc(int version) {
  std::scoped_lock lock(mutex);
  newest_cuda = version;
}

}  // namespace kw
