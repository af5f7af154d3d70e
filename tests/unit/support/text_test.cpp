// Text helpers: concatenation, splitting, code points, number printing, nearest words and globs.
#include "support/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/unit/helpers.h"

namespace kw {
namespace {

TEST(Text, cat_prints_integers_characters_and_python_booleans) {
  EXPECT_EQ(cat("n=", 3, ' ', true, '/', false, std::string("!"), std::string_view("?")), "n=3 True/False!?");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(cat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(cat(uint8_t{65}), "65");
  EXPECT_EQ(cat(), "");
}

TEST(Text, split_keeps_empty_parts_and_join_restores) {
  EXPECT_EQ(split_text("a;;b;", ';'), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split_text("", ';'), std::vector<std::string>{""});
  EXPECT_EQ(join_text(split_text("a;;b;", ';'), ";"), "a;;b;");
  EXPECT_EQ(join_text({}, ", "), "");
}

TEST(Text, trim_removes_white_space_on_both_sides_only) {
  EXPECT_EQ(trim(" \t\r\n a b \n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, starts_with_compares_whole_prefixes) {
  EXPECT_TRUE(starts_with("kernel", "ker"));
  EXPECT_TRUE(starts_with("kernel", ""));
  EXPECT_FALSE(starts_with("ke", "ker"));
  EXPECT_FALSE(starts_with("kernel", "Ker"));
}

TEST(Text, code_points_are_counted_not_bytes) {
  EXPECT_EQ(count_code_points(""), 0u);
  EXPECT_EQ(count_code_points("abc"), 3u);
  EXPECT_EQ(count_code_points("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), 3u);  // two, three and four bytes
}

TEST(Text, utf8_is_decoded_and_measured) {
  EXPECT_EQ(decode_utf8("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), U"a\u00E4\u20AC\U0001F600");
  EXPECT_EQ(decode_utf8("\x80"
                        "a\xC3"),
            U"a\u0003");  // damaged text gives something
  for (char32_t point : std::u32string_view(U"\u1100\u3042\u4E00\uAC00\uFF01\U0001F600\U00020000"))
    EXPECT_EQ(display_width(point), 2u) << static_cast<uint32_t>(point);
  for (char32_t point : {U'a', U'\u00E4', U'\u20AC', U'\uFF61'}) EXPECT_EQ(display_width(point), 1u);
  for (char32_t point : {U'\u0300', U'\u200D', U'\uFE0F'}) EXPECT_EQ(display_width(point), 0u);
}

TEST(Text, float_text_always_looks_like_a_float) {
  EXPECT_EQ(float_text(1.0), "1.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(1e300), "1e+300");
  EXPECT_EQ(float_text(123456789.0), "123456789.0");
  EXPECT_EQ(float_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(float_text(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Text, float_text_of_float32_uses_its_shorter_digits) {
  EXPECT_EQ(float_text(0.1f), "0.1");
  EXPECT_EQ(float_text(static_cast<double>(0.1f)), "0.10000000149011612");
}

TEST(Text, float_text_reads_back_as_the_same_double) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (int i = 0; i < 20000; ++i) {
    auto v = std::bit_cast<double>(random());
    if (!std::isfinite(v)) continue;
    std::string text = float_text(v);
    ASSERT_EQ(std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)), std::bit_cast<uint64_t>(v))
        << text;
    ASSERT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(Text, float_text_reads_back_as_the_same_float) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (int i = 0; i < 20000; ++i) {
    auto v = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(v)) continue;
    std::string text = float_text(v);
    ASSERT_EQ(std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)), std::bit_cast<uint32_t>(v))
        << text;
  }
}

TEST(Text, hex_text_has_lower_case_digits_without_padding) {
  EXPECT_EQ(hex_text(0), "0x0");
  EXPECT_EQ(hex_text(0xDEADBEEF), "0xdeadbeef");
  EXPECT_EQ(hex_text(~uint64_t{0}), "0xffffffffffffffff");
}

TEST(Text, closest_finds_small_slips_and_nothing_far_away) {
  std::vector<std::string> words = {"sqrt", "range", "output_tensor"};
  EXPECT_EQ(closest("sqr", words), "sqrt");
  EXPECT_EQ(closest("rnage", words), "range");  // an exchange of neighbours is one slip
  EXPECT_EQ(closest("ranhes", words), "range");
  EXPECT_EQ(closest("rabhe", words), "");  // two edits in five letters are more than a third
  EXPECT_EQ(closest("ranges", words), "range");
  EXPECT_EQ(closest("outputtensor", words), "output_tensor");
  EXPECT_EQ(closest("zzz", words), "");
  EXPECT_EQ(closest("x", {}), "");
}

TEST(Text, closest_prefers_the_smaller_distance) {
  std::vector<std::string> words = {"parallels", "parallel"};
  EXPECT_EQ(closest("parallel", words), "parallel");
  EXPECT_EQ(closest("paralel", words), "parallel");
}

TEST(Text, glob_star_stands_for_any_run_of_characters) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*", "matmul"));
  EXPECT_TRUE(glob_match("mat*", "matmul"));
  EXPECT_TRUE(glob_match("*mul", "matmul"));
  EXPECT_TRUE(glob_match("m*t*l", "matmul"));
  EXPECT_TRUE(glob_match("matmul", "matmul"));
  EXPECT_FALSE(glob_match("matmul", "matmul2"));
  EXPECT_FALSE(glob_match("mat?ul", "matmul"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("", ""));
}

TEST(Text, counts_and_articles) {
  EXPECT_EQ(counted(1, "dimension"), "1 dimension");
  EXPECT_EQ(counted(0, "variable"), "0 variables");
  EXPECT_EQ(counted(2, "name"), "2 names");
  EXPECT_EQ(with_article("int"), "an int");
  EXPECT_EQ(with_article("object"), "an object");
  EXPECT_EQ(with_article("list"), "a list");
  EXPECT_EQ(with_article("uint8"), "a uint8");
  EXPECT_EQ(with_article("unroll"), "an unroll");
  EXPECT_EQ(with_article(""), "a ");
}

}  // namespace
}  // namespace kw
