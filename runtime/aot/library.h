// Libraries that a user compiled: opened, their symbols found, and the operators that their static
// initialisers declare taken into the registry. A library is unloaded when neither its object nor an operator
// of it is held any more.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kw {

class Library {
 public:
  /// Opens a file, and commits what it registers; throws OpError with what the loader or the registry says,
  /// and then nothing is registered.
  static std::shared_ptr<Library> open(const std::string &path);
  /// The same for the bytes of a file, which messages call `shown`; nobody can change what is loaded. Bytes
  /// that are loaded already give the library that is there.
  static std::shared_ptr<Library> open_image(std::string_view image, const std::string &shown);
  Library(const Library &) = delete;
  ~Library();

  /// Null when the library itself defines no such function.
  void *find(const char *symbol) const;
  /// Throws OpError when the library itself defines no such function.
  void *need(const char *symbol) const;

 private:
  Library(std::string path, std::string shown, void *handle)
      : path_(std::move(path)), shown_(std::move(shown)), handle_(handle) {}
  static std::shared_ptr<Library> load(const std::string &path, const std::string &shown);
  std::string problem_of(const char *symbol) const;

  std::string path_, shown_;
  void *handle_;
};

}  // namespace kw
