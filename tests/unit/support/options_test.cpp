// KW_DEBUG words, and that options reach the cache key or do not.
#include "support/options.h"

#include <gtest/gtest.h>

#include <array>

#include "runtime/request.h"

namespace kw {
namespace {

DebugOptions parsed(std::string_view text) {
  ParsedDebug p = parse_debug(text);
  EXPECT_EQ(p.error, "") << text;
  return p.options;
}

TEST(ParseDebug, nothing_means_the_defaults) {
  for (std::string_view text : {"", " ; ;", ";"}) {
    DebugOptions o = parsed(text);
    EXPECT_TRUE(o.dump_after.empty());
    EXPECT_EQ(o.dump_dir, "");
    EXPECT_EQ(o.kernel, "*");
    EXPECT_FALSE(o.time || o.verify_each || o.interp);
    EXPECT_TRUE(o.cache);
    EXPECT_FALSE(o.perf_map || o.jitdump || o.gdb);
  }
}

TEST(ParseDebug, knows_every_word) {
  EXPECT_EQ(parsed("dump:after=unroll; dump:after=all").dump_after,
            (std::vector<std::string>{"unroll", "all"}));
  EXPECT_EQ(parsed("dump:dir=/tmp/x y").dump_dir, "/tmp/x y");
  EXPECT_EQ(parsed("kernel=matmul*").kernel, "matmul*");
  EXPECT_TRUE(parsed("time").time);
  EXPECT_TRUE(parsed("verify=each").verify_each);
  EXPECT_TRUE(parsed("interp").interp);
  EXPECT_EQ(parsed("interp").interp_target, "");
  EXPECT_TRUE(parsed("interp:avx2").interp);
  EXPECT_EQ(parsed("interp:avx512").interp_target, "avx512");
  EXPECT_EQ(parsed("interp:sm_90").interp_target, "sm_90");
  EXPECT_FALSE(parsed("cache=off").cache);
  EXPECT_TRUE(parsed("perf:map").perf_map);
  EXPECT_TRUE(parsed("perf:jitdump").jitdump);
  EXPECT_TRUE(parsed("gdb").gdb);
}

TEST(ParseDebug, words_combine_and_spaces_do_not_matter) {
  DebugOptions o = parsed("  time ;cache = off;  gdb ; kernel = f ;");
  EXPECT_TRUE(o.time);
  EXPECT_FALSE(o.cache);
  EXPECT_TRUE(o.gdb);
  EXPECT_EQ(o.kernel, "f");
}

TEST(ParseDebug, refuses_unknown_words_and_names_the_known_ones) {
  for (std::string_view text :
       {"tme",      "time=1",     "dump:after", "dump:after=", "dump:dir=",   "dump=all",    "kernel=",
        "verify",   "verify=all", "interp=1",   "interp:",     "interp:avx3", "interp:host", "cache",
        "cache=on", "perf",       "perf:",      "gdb=1",       "perf:map=1",  "Time",        "="}) {
    std::string error = parse_debug(text).error;
    EXPECT_NE(error.find(std::string("unknown word '") + std::string(text) + "'"), std::string::npos) << text;
    for (std::string_view word : {"dump:after=", "dump:dir=", "kernel=", "time", "verify=each", "interp",
                                  "cache=off", "perf:map", "gdb"})
      EXPECT_NE(error.find(word), std::string::npos) << word;
  }
}

TEST(ParseDebug, says_what_became_of_log) {
  for (std::string word : {"log", "log=1", "log=x"})
    EXPECT_EQ(parse_debug("time; " + word).error,
              "KW_DEBUG: log= is gone; set KW_LOG=info, or a level of Python's logging");
}

TEST(ParseDebug, a_wrong_word_behind_right_ones_is_still_an_error) {
  EXPECT_NE(parse_debug("time; nonsense; gdb").error.find("'nonsense'"), std::string::npos);
}

TEST(CodegenOptions, every_field_is_walked_by_name) {
  // A new field breaks this binding: hash it in for_each_field and add it here.
  auto [fp, body, debug, unchecked, asserts, debug_info] = CodegenOptions{};
  EXPECT_EQ(fp, FpMode::normal);
  EXPECT_EQ(body, Body::main);
  EXPECT_FALSE(debug || unchecked || debug_info);
  EXPECT_TRUE(asserts);
  std::vector<std::string_view> names;
  for_each_field(CodegenOptions{}, [&](std::string_view name, int) { names.push_back(name); });
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"fp", "body", "debug", "unchecked", "asserts", "debug_info"}));
}

TEST(CodegenOptions, every_field_changes_the_key) {
  Request base;
  std::array<Request, 6> changed;
  changed[0].options.fp = FpMode::strict;
  changed[1].options.fp = FpMode::fast;
  changed[2].options.body = Body::plain;
  changed[3].options.debug = true;
  changed[4].options.unchecked = true;
  changed[5].options.debug_info = true;
  for (const Request &r : changed) EXPECT_NE(key_of(r), key_of(base)) << key_text(r);
}

TEST(DebugOptions, never_reach_the_key) {
  Request r;
  DebugOptions before = debug_options();
  std::string text = key_text(r);
  // A new field breaks this binding: set it to something else below.
  auto [dump_after, dump_dir, kernel, time, verify_each, interp, interp_target, cache, perf_map, jitdump, gdb,
        wait] = DebugOptions{};
  set_debug_options({{"all"},
                     "/nowhere",
                     kernel + "x",
                     !time,
                     !verify_each,
                     !interp,
                     interp_target + "avx2",
                     !cache,
                     !perf_map,
                     !jitdump,
                     !gdb,
                     !wait});
  EXPECT_EQ(key_text(r), text);
  set_debug_options(before);
  EXPECT_TRUE(dump_after.empty() && dump_dir.empty());
}

TEST(DebugOptions, setting_replaces_the_options_in_force) {
  const DebugOptions &before = debug_options();
  DebugOptions mine = before;
  mine.kernel = "only_this";
  set_debug_options(mine);
  EXPECT_EQ(debug_options().kernel, "only_this");
  EXPECT_NE(before.kernel, "only_this");  // readers of the old options keep them
  set_debug_options(before);
}

TEST(OptionNames, are_those_of_the_python_interface) {
  EXPECT_EQ(fp_name(FpMode::strict), "strict");
  EXPECT_EQ(fp_name(FpMode::normal), "default");
  EXPECT_EQ(fp_name(FpMode::fast), "fast");
}

}  // namespace
}  // namespace kw
