// Sources of the formats: perf-map-add's convention (address, size, name), and the kernel's
// tools/perf/Documentation/jitdump-specification.txt, version 1.
#include "runtime/cpu/perf_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "support/fork_mutex.h"
#include "support/log.h"
#include "support/text.h"

namespace kw {

namespace {

/// A file of this process that grows.
class GrowingFile {
 public:
  /// Opens the file that `path` names for this process, unless it is open, and calls `begin` once it is.
  /// Returns whether it is open; a failure is logged once.
  template <class Path, class Begin>
  bool open(Path &&path, int flags, Begin &&begin) {
    pid_t process = ::getpid();
    if (process == process_) return file_ >= 0;
    if (file_ >= 0) ::close(file_);  // the parent's
    process_ = process;
    std::string name = path(process);
    file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (file_ < 0)
      log_message(LogArea::compile, LogLevel::warning,
                  cat("cannot write ", name, ": ", std::strerror(errno)));
    else
      begin(file_);
    return file_ >= 0;
  }
  /// Writes in one call, so that a reader never sees a part.
  void write(std::string_view bytes) const { (void)!::write(file_, bytes.data(), bytes.size()); }

 private:
  pid_t process_ = 0;
  int file_ = -1;
};

/// The files of the process, and the number of the next function in the dump.
struct Files {
  ForkMutex mutex;
  GrowingFile map, dump;
  uint64_t next = 0;
};

Files files;  // made when the library is loaded: a child of fork must not find it half made

template <class T>
void append(std::string &out, T v) {
  out.append(reinterpret_cast<const char *>(&v), sizeof v);
}

/// The clock of `perf record -k 1`.
uint64_t timestamp() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

/// Begins a dump. perf finds it by the mapping, which it sees like any mapping of code.
void begin_dump(int file) {
  constexpr uint32_t magic = 0x4A695444, version = 1, header_size = 40;  // "JiTD"
#if defined(__aarch64__)
  constexpr uint32_t machine = EM_AARCH64;
#else
  constexpr uint32_t machine = EM_X86_64;
#endif
  std::string header;
  for (uint32_t word : {magic, version, header_size, machine, 0u, static_cast<uint32_t>(::getpid())})
    append(header, word);
  append(header, timestamp());
  append(header, uint64_t{0});  // flags
  (void)!::write(file, header.data(), header.size());
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  // stays until the process ends
  if (::mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
    log_message(LogArea::compile, LogLevel::warning,
                cat("perf will not find the dump of code: ", std::strerror(errno)));
}

}  // namespace

void write_perf_map(std::span<const CodeRange> functions) {
  std::scoped_lock lock(files.mutex);
  if (!files.map.open([](pid_t process) { return cat("/tmp/perf-", process, ".map"); }, 0, [](int) {}))
    return;
  std::string lines;
  for (const CodeRange &f : functions)
    lines += cat(hex_text(f.address).substr(2), " ", hex_text(f.size).substr(2), " ", f.name, "\n");
  files.map.write(lines);
}

void write_jitdump(std::span<const CodeRange> functions) {
  std::scoped_lock lock(files.mutex);
  auto path = [](pid_t process) {
    const char *folder = std::getenv("JITDUMPDIR");
    return cat(folder && *folder ? cat(folder, "/") : "", "jit-", process, ".dump");
  };
  // another process may have had this number; the map above is Python's, too, and only appended to
  if (!files.dump.open(path, O_TRUNC, begin_dump)) return;
  for (const CodeRange &f : functions) {
    constexpr uint32_t code_load = 0, fixed_size = 56;
    std::string record;
    append(record, code_load);
    append(record, static_cast<uint32_t>(fixed_size + f.name.size() + 1 + f.size));
    append(record, timestamp());
    append(record, static_cast<uint32_t>(::getpid()));
    append(record, static_cast<uint32_t>(::syscall(SYS_gettid)));
    append(record, f.address);  // where perf saw it run
    append(record, f.address);
    append(record, f.size);
    append(record, files.next++);
    record.append(f.name).push_back('\0');
    record.append(reinterpret_cast<const char *>(f.address), f.size);
    files.dump.write(record);
  }
}

}  // namespace kw
