// Libraries that a user compiled: opened, their symbols found, and the operators that their static
// initialisers declare taken into the registry. A library is unloaded when neither its object nor an operator
// of it is held any more.
#pragma once

#include <memory>
#include <string>

namespace kw {

class Library {
 public:
  /// Opens a file, and commits what it registers; throws OpError with what the loader or the registry says,
  /// and then nothing is registered. `shown` is what a refusal calls a file that is a copy.
  static std::shared_ptr<Library> open(const std::string &path, const std::string &shown = "");
  Library(const Library &) = delete;
  ~Library();

  /// Null when the library defines no such symbol.
  void *find(const char *symbol) const;
  /// Throws OpError when the library defines no such symbol.
  void *need(const char *symbol) const;
  const std::string &path() const { return path_; }

 private:
  Library(std::string path, void *handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  void *handle_;
};

}  // namespace kw
