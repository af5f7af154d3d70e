// Keeps one nest for the kernel, and one for its version while the lines rewrite that.
#include "schedule/replay.h"

#include "schedule/cpu/short_sums.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

/// Applies the lines of a schedule in order, to the nest of the kernel or to the nest of its version for
/// short sums.
class Replay {
 public:
  Replay(LoopNest &nest, const SourceMap &sources) : nest_(nest), sources_(sources) {}

  std::optional<RefusedLine> run(uint32_t source) {
    for (Loc line : directive_lines(sources_, source)) {
      bool is_version = behind_prefix(line, drop_short_sums);
      // The first line without the prefix ends the version: lines after it rewrite both forms.
      if (is_version)
        begin_version(line);
      else
        end_version();
      if (auto refused = apply(is_version ? *version_ : nest_, line)) return refused;
    }
    end_version();
    return std::nullopt;
  }

 private:
  /// Drops a prefix from the place of a line; returns what `drop` returns.
  template <class F>
  auto behind_prefix(Loc &line, F &&drop) const -> decltype(drop(std::declval<std::string_view &>())) {
    std::string_view text = sources_.text(line.source).substr(line.begin, line.end - line.begin);
    auto found = drop(text);
    line.begin = line.end - static_cast<uint32_t>(text.size());
    return found;
  }

  /// Parses a line for the present form of the nest, since directives change the names of loops.
  std::optional<RefusedLine> apply(LoopNest &nest, Loc line) const {
    if (auto alone = behind_prefix(line, drop_loop_alone)) {
      std::vector<LoopAlone> part = nest.loops_alone(*alone);
      if (part.empty())
        throw CompileError(Diagnostic{Code::E401, line, cat("the nest has no loop ", *alone), {}, {}});
      if (auto refused = apply(part[0].nest, line)) return refused;
      nest.take_parts(part);
      return std::nullopt;
    }
    Directive d = parse_directive(nest.func(), nest.nest(), sources_, line);
    Verdict v = nest.legal(d, true);
    if (!v.ok()) return RefusedLine{line, std::move(v)};
    nest.apply(d);
    return std::nullopt;
  }

  /// Begins the version with the kernel before all directives, as the scheduler does. Throws CompileError
  /// with E401 if the kernel has no such version, or has one already.
  void begin_version(Loc line) {
    if (version_) return;
    std::optional<ShortSums> made = short_sums(nest_.original());
    if (!made || nest_.has_versions()) {
      Diagnostic d{Code::E401, line, "the kernel has no version for short sums", {}, {}};
      if (made) d.message = "the kernel has its version for short sums already";
      throw CompileError(std::move(d));
    }
    condition_ = made->condition;
    version_.emplace(std::move(made->func));
  }

  /// Replaces the kernel by a branch between the version and the kernel; does nothing without a version.
  void end_version() {
    if (!version_) return;
    nest_.add_version(with_short_sums(nest_.func(), condition_, version_->func()), version_->steps());
    version_.reset();
  }

  LoopNest &nest_;
  const SourceMap &sources_;
  /// Has a value while the lines rewrite the version; `condition_` then selects the calls of the version.
  std::optional<LoopNest> version_;
  Expr condition_;
};

}  // namespace

std::optional<RefusedLine> replay(LoopNest &nest, const SourceMap &sources, uint32_t source) {
  return Replay(nest, sources).run(source);
}

Replayed replayed(const Func &f, const std::vector<std::string> &lines) {
  SourceMap sources;
  LoopNest nest(f);
  uint32_t text = sources.add_text("<schedule>", 0, join_text(lines, "\n"));
  try {
    if (auto refused = replay(nest, sources, text)) {
      Loc at = refused->line;
      return {nest.func(),
              cat("`", sources.text(text).substr(at.begin, at.end - at.begin), "` is not legal")};
    }
  } catch (const CompileError &e) {
    return {nest.func(), e.found()[0].message};
  }
  return {nest.func(), ""};
}

}  // namespace kw
