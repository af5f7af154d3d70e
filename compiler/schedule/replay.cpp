// One nest for the kernel, one for its version while the lines are for that.
#include "schedule/replay.h"

#include "ir/print.h"
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
      std::string_view text = sources_.text(source).substr(line.begin, line.end - line.begin);
      bool is_version = text.starts_with(short_sums_prefix);
      // The first line without the prefix ends the version: lines behind it rewrite both forms.
      if (is_version) {
        line.begin += static_cast<uint32_t>(short_sums_prefix.size());
        begin_version(line);
      } else {
        end_version();
      }
      if (auto refused = apply(is_version ? *version_ : nest_, line)) return refused;
    }
    end_version();
    return std::nullopt;
  }

 private:
  /// Parses a line for the present form of the nest, since directives change the names of loops.
  std::optional<RefusedLine> apply(LoopNest &nest, Loc line) const {
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

  /// Makes the kernel a branch between the version and what it is; does nothing without a version.
  void end_version() {
    if (!version_) return;
    nest_.add_version(with_short_sums(nest_.func(), condition_, version_->func()), short_sums_prefix,
                      version_->lines());
    version_.reset();
  }

  LoopNest &nest_;
  const SourceMap &sources_;
  /// Has a value while the lines are for the version; `condition_` then tells which calls it is for.
  std::optional<LoopNest> version_;
  Expr condition_;
};

}  // namespace

std::optional<RefusedLine> replay(LoopNest &nest, const SourceMap &sources, uint32_t source) {
  return Replay(nest, sources).run(source);
}

std::string replay_error(const Func &f, const std::vector<std::string> &lines, const Func &scheduled) {
  SourceMap sources;
  LoopNest nest(f);
  uint32_t text = sources.add_text("<schedule>", 0, join_text(lines, "\n"));
  try {
    if (auto refused = replay(nest, sources, text))
      return cat("`", sources.text(text).substr(refused->line.begin, refused->line.end - refused->line.begin),
                 "` is not legal");
  } catch (const CompileError &e) {
    return e.found()[0].message;
  }
  // The printed text contains the kinds and plans of loops, so that a missing directive shows.
  return print(nest.func()) == print(scheduled) ? "" : "the directives make other loops than those that run";
}

}  // namespace kw
