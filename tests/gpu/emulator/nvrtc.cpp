// A stand-in for libnvrtc.so: compiles a text of the product, unchanged, with the system's g++ and shim.inc
// to a library of the host, which the stand-in of the driver loads. Every access of a kernel is compiled with
// a call of memory.cpp. Keeps what it has compiled in KW_EMULATED_CACHE, by content.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "image.h"

struct Program {
  std::string text, log, code;
};

namespace {

enum : int { success = 0, invalid_option = 5, compilation = 6 };

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the folder of this library, with shim.inc and the stand-in of the driver.
std::string own_folder() {
  Dl_info info;
  dladdr(reinterpret_cast<void *>(&own_folder), &info);
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/'));
}

/// Returns 32 hexadecimal digits that stand for a text (FNV-1a, from both ends).
std::string digest(const std::string &text) {
  uint64_t a = 14695981039346656037ull, b = a;
  for (size_t i = 0; i < text.size(); ++i) {
    a = (a ^ static_cast<unsigned char>(text[i])) * 1099511628211ull;
    b = (b ^ static_cast<unsigned char>(text[text.size() - 1 - i])) * 1099511628211ull;
  }
  char out[33];
  std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return out;
}

/// Returns the text with the words of the host before it, and a runner for each kernel behind it.
std::string whole(const std::string &text, const std::string &arch) {
  std::ostringstream out;
  out << read_file(own_folder() + "/shim.inc") << "\n" << text << "\n";
  // Threads that wait for one another need stacks of their own.
  size_t prelude = text.rfind("#endif\n");
  bool waits = std::regex_search(text.substr(prelude == std::string::npos ? 0 : prelude),
                                 std::regex(R"(\bkw_(sync|any|shfl)|KW_SHARED)"));
  static const std::regex kernel(R"(KW_(?:TEAM_)?KERNEL\((\d+)\)\s+(\w+)\()");
  for (std::sregex_iterator k(text.begin(), text.end(), kernel), end; k != end; ++k)
    out << "KW_RUN(" << (waits ? "kw_run_blocks, " : "kw_run, ") << (*k)[2] << ", " << (*k)[1] << ")\n";
  out << "extern \"C\" const char kw_emulated_arch[] = \"" << arch << "\";\n";
  return out.str();
}

/// Runs a command and appends what it prints to `log`. Returns whether it succeeded.
bool run(const std::string &command, std::string &log) {
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return false;
  char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) log.append(buffer, n);
  return ::pclose(pipe) == 0;
}

int compile(Program &p, const std::string &arch) {
  std::string text = whole(p.text, arch), folder = own_folder();
  const char *given = std::getenv("KW_EMULATED_CACHE"), *compiler = std::getenv("CXX");
  // g++ 12 makes `0.0 - (double)i` to `-(double)i`, which is -0.0 for 0; not with -frounding-math
  std::string cxx = compiler ? compiler : "g++";
  const std::string flags = " -c -O1 -std=c++17 -fPIC -ffp-contract=off -frounding-math -fsanitize=thread -w";
  std::string cache = given ? given : folder, name = digest(text + cxx + flags);
  std::string path = cache + "/" + name + ".so";
  p.code = read_file(path);
  if (!p.code.empty()) return success;
  std::string own = cache + "/" + name + "." + std::to_string(::getpid()) + "." +
                    std::to_string(reinterpret_cast<uintptr_t>(&p));
  std::ofstream(own + ".cpp") << text;
  // compiled with the option that adds the calls, and linked without it, so that its library is not linked
  bool fine =
      run(cxx + flags + " --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0 -o " +
              own + ".o " + own + ".cpp",
          p.log) &&
      // Without the libraries of C++, which libcuda.so.1 brings, in a tenth of the time.
      run(cxx + " -shared -nostdlib -o " + own + ".so " + own + ".o -Wl,--no-as-needed " + folder +
              "/libcuda.so.1 -lgcc",
          p.log);
  p.code = fine ? read_file(own + ".so") : "";
  if (fine) std::rename((own + ".so").c_str(), path.c_str());
  for (const char *end : {".cpp", ".o"}) ::unlink((own + end).c_str());
  return fine && !p.code.empty() ? success : compilation;
}

/// Returns the library as a text, which stands for PTX.
std::string as_text(const std::string &code) {
  std::string out = "// library of the host\n";
  for (char c : code) {
    out += static_cast<char>('a' + (static_cast<unsigned char>(c) >> 4));
    out += static_cast<char>('a' + (static_cast<unsigned char>(c) & 15));
  }
  return out;
}

}  // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
  *major = 13, *minor = 0;
  return success;
}
int nvrtcGetNumSupportedArchs(int *count) {
  *count = 4;
  return success;
}
int nvrtcGetSupportedArchs(int *archs) {
  const int known[] = {80, 86, 90, 100};
  std::memcpy(archs, known, sizeof known);
  return success;
}
int nvrtcCreateProgram(Program **program, const char *text, const char *, int, const char *const *,
                       const char *const *) {
  *program = new Program{text, {}, {}};
  return success;
}
int nvrtcDestroyProgram(Program **program) {
  delete *program;
  *program = nullptr;
  return success;
}
int nvrtcCompileProgram(Program *p, int count, const char *const *options) {
  std::string arch;
  for (int i = 0; i < count; ++i) {
    std::string option = options[i];
    const std::string wanted = "--gpu-architecture=";
    if (option.rfind(wanted, 0) == 0) arch = option.substr(wanted.size());
  }
  if (arch.rfind("compute_", 0) == 0) {
    int failed = compile(*p, arch);
    if (!failed) p->code = as_text(p->code);
    return failed;
  }
  if (arch.rfind("sm_", 0) != 0) return invalid_option;
  int failed = compile(*p, arch);
  if (!failed) emulator::name_machine(p->code, arch);
  return failed;
}
int nvrtcGetProgramLogSize(Program *p, size_t *size) {
  *size = p->log.size() + 1;
  return success;
}
int nvrtcGetProgramLog(Program *p, char *log) {
  std::memcpy(log, p->log.c_str(), p->log.size() + 1);
  return success;
}
int nvrtcGetCUBINSize(Program *p, size_t *size) {
  *size = p->code.size();
  return success;
}
int nvrtcGetCUBIN(Program *p, char *code) {
  std::memcpy(code, p->code.data(), p->code.size());
  return success;
}
int nvrtcGetPTXSize(Program *p, size_t *size) {
  *size = p->code.size() + 1;
  return success;
}
int nvrtcGetPTX(Program *p, char *code) {
  std::memcpy(code, p->code.c_str(), p->code.size() + 1);
  return success;
}

}  // extern "C"
