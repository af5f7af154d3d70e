// Libraries that a user compiled: opens them, finds their symbols, and registers the operators that their
// static initializers declare. A library is unloaded when neither its object nor any of its operators is
// held.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/aot/gpu_code.h"
#include "runtime/device.h"

namespace kw {

class Library {
 public:
  /// Opens a file and registers its operators. Throws OpError with the message of the loader or the registry,
  /// and for code for GPUs where there is none; then nothing is registered.
  static std::shared_ptr<Library> open(const std::string &path);
  /// Opens a library from the bytes of a file, which messages call `shown`, so that no process can change
  /// what is loaded. Bytes that are already loaded give the existing library.
  static std::shared_ptr<Library> open_image(std::string_view image, const std::string &shown);
  Library(const Library &) = delete;
  ~Library();

  /// Returns a function of the library; null if the library itself does not define it.
  void *find(const char *symbol) const;
  /// Returns a function of the library; throws OpError if the library itself does not define it.
  void *need(const char *symbol) const;
  /// Returns whether it holds code for GPUs, and so works on their memory.
  bool is_for_gpu() const { return is_for_gpu_; }
  /// Throws ResolvedError, E501, if a GPU can run none of its code. A launch would fail without a word, and
  /// its results would be zeros.
  void need_code_for(Device device) const;

 private:
  Library(std::string path, std::string shown, void *handle, bool is_for_gpu, std::vector<GpuCode> code)
      : path_(std::move(path)),
        shown_(std::move(shown)),
        handle_(handle),
        is_for_gpu_(is_for_gpu),
        gpu_code_(std::move(code)) {}
  static std::shared_ptr<Library> load(const std::string &path, const std::string &shown);
  std::string problem_of(const char *symbol) const;

  std::string path_, shown_;
  void *handle_;
  bool is_for_gpu_;
  std::vector<GpuCode> gpu_code_;  ///< empty if unknown
};

}  // namespace kw
