// What launch programs ask of a device: programs of small kernels, and a queue that notes what reaches it
// as text.
#pragma once

#include "runtime/cuda/launch.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {

/// Notes what a program asks for. A word is true so many times.
class Recorder : public LaunchQueue {
 public:
  explicit Recorder(int turns = 0) : turns_(turns) {}
  bool reserve(uint32_t slot, int64_t bytes) override { return note(cat("slot ", slot, ":", bytes)); }
  bool fill(uint32_t slot) override { return note(cat("fill ", slot)); }
  bool launch(const LaunchCall &c) override {
    std::string out = cat("launch ", c.kernel, " ", c.blocks[0], ",", c.blocks[1], ",", c.blocks[2]);
    for (int64_t i : c.iterators) out += cat(" at ", i);
    for (int64_t b : c.bytes) out += cat(" with ", b);
    return note(out);
  }
  bool read(uint32_t slot, bool &word) override {
    word = turns_-- > 0;
    return note(cat("read ", slot));
  }
  std::string text() const { return join_text(done_, "; "); }

 private:
  bool note(std::string what) {
    if (done_.size() > 1000) return false;
    done_.push_back(std::move(what));
    return true;
  }
  int turns_;
  std::vector<std::string> done_;
};

/// Returns the launch program of a kernel over i64 p[n] and an integer k, whose body is `lines`.
inline LaunchProgram launches_of(std::string_view lines) {
  std::string text = "def f(p: inout(i64, (n,)), k: scalar(i64)):\n  fp('strict')\n  dims(n)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return emit_launches(unit::ir(text + "  return p\n"), *target_of_class("sm_90")).launches;
}

}  // namespace kw
