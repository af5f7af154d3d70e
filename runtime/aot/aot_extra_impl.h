// The body of aot_extra_old.cpp and aot_extra_new.cpp, which differ only in a macro of libstdc++. Its class
// has the virtual functions and members of AotExtra in custom_aot_extra.h, in their order.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "runtime/aot/aot_extra.h"

namespace kw {

namespace {

/// The object that a kernel gets as `extra`. Its virtual functions keep the order of custom_aot_extra.h,
/// because the kernel calls them by their index in the virtual table.
class Extra {
 public:
  explicit Extra(const AotAttrSource *source) : source_(*source) {}
  virtual ~Extra() = default;
  virtual bool has_attr(std::string name) { return source_.has(source_.of, name.c_str()); }
  virtual bool boolean(std::string name) {
    bool out = false;
    if (!source_.boolean(source_.of, name.c_str(), &out)) fail(name);
    return out;
  }
  virtual int64_t integer(std::string name) {
    int64_t out = 0;
    if (!source_.integer(source_.of, name.c_str(), &out)) fail(name);
    return out;
  }
  virtual float real(std::string name) {
    double out = 0;
    if (!source_.real(source_.of, name.c_str(), &out)) fail(name);
    return static_cast<float>(out);
  }
  virtual std::string text(std::string name) {
    const char *text = source_.text(source_.of, name.c_str());
    if (!text) fail(name);
    return text;
  }
  virtual std::vector<int64_t> integers(std::string name) { return first(rows<int64_t>(name)); }
  virtual std::vector<float> reals(std::string name) { return first(rows<float>(name)); }
  virtual std::vector<std::vector<int64_t>> integer_rows(std::string name) { return rows<int64_t>(name); }
  virtual std::vector<std::vector<float>> real_rows(std::string name) { return rows<float>(name); }

  void destroy_data() {
    if (!data_) return;
    // the library defines the class: the second entry of its virtual table destroys and frees it (Itanium C++
    // ABI)
    using Destroy = void (*)(void *);
    (*reinterpret_cast<Destroy **>(data_))[1](data_);
    data_ = nullptr;
  }
  const std::vector<size_t> &workspace() const { return workspace_; }

 private:
  /// Ends the kernel with an exception, after the name is noted for the message.
  void fail(const std::string &name) {
    source_.missing(source_.of, name.c_str());
    throw AotMissingAttr{};
  }

  /// Collects an attribute of numbers as rows; the callbacks receive the rows one number at a time.
  template <class T>
  std::vector<std::vector<T>> rows(const std::string &name) {
    std::vector<std::vector<T>> out;
    auto row = [](void *to, size_t count) {
      auto &all = *static_cast<std::vector<std::vector<T>> *>(to);
      all.emplace_back();
      all.back().reserve(count);
    };
    auto item = [](void *to, double real, int64_t integer) {
      T value = std::is_same_v<T, float> ? static_cast<T>(real) : static_cast<T>(integer);
      static_cast<std::vector<std::vector<T>> *>(to)->back().push_back(value);
    };
    if (!source_.rows(source_.of, name.c_str(), &out, row, item)) fail(name);
    return out;
  }

  /// Returns the first row, or an empty one: a flat list is reported as a single row.
  template <class T>
  static std::vector<T> first(std::vector<std::vector<T>> all) {
    return all.empty() ? std::vector<T>() : std::move(all[0]);
  }

  // members that the kernel's own code reads and writes, then members that it does not know
  std::vector<size_t> workspace_;
  void *data_ = nullptr;
  AotAttrSource source_;
};

Extra *extra_of(void *p) { return static_cast<Extra *>(p); }

constexpr AotExtraApi extra_api = {
    [](const AotAttrSource *source) -> void * { return new Extra(source); },
    [](void *extra) { delete extra_of(extra); },
    [](void *extra) { extra_of(extra)->destroy_data(); },
    [](const void *extra) { return static_cast<const Extra *>(extra)->workspace().size(); },
    [](const void *extra, size_t i) { return static_cast<const Extra *>(extra)->workspace()[i]; },
};

}  // namespace

}  // namespace kw
