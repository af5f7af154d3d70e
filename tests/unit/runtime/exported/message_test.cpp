// Texts that exported libraries write without a library of C++.
#include "runtime/exported/standalone/message.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>

namespace kw {

namespace {

char mark(FaultField field) { return static_cast<char>(field); }

std::string filled(std::string pattern, int64_t value, int64_t bound) {
  char out[200];
  Message(out, sizeof out).put_pattern(pattern.c_str(), KwFault{2, 0, value, bound});
  return out;
}

TEST(ExportedMessage, numbers_and_shapes) {
  char out[100];
  int64_t shape[] = {3, 0, INT64_MIN};
  Message(out, sizeof out)
      .put("a ")
      .put(-7)
      .put(" ")
      .put_shape(shape, 1)
      .put_shape(shape, 0)
      .put_shape(shape, 3);
  EXPECT_STREQ(out, "a -7 (3,)()(3, 0, -9223372036854775808)");
}

TEST(ExportedMessage, what_does_not_fit_is_cut) {
  char out[5] = "zzzz";
  Message(out, 4).put("abcdef");
  EXPECT_STREQ(out, "abc");
  Message(out, 1).put("abc");
  EXPECT_STREQ(out, "");
  Message(out, 0).put("abc");
  Message(nullptr, 10).put("abc").clear();
}

TEST(ExportedMessage, fields_of_faults) {
  EXPECT_EQ(filled({'v', mark(FaultField::value)}, -3, 5), "v-3");
  EXPECT_EQ(filled({mark(FaultField::unsigned_value)}, -1, 5), "18446744073709551615");
  EXPECT_EQ(filled({mark(FaultField::from_end), '/', mark(FaultField::bound)}, -3, 5), "-8/5");
  EXPECT_EQ(filled({mark(FaultField::unsigned_from_end)}, -3, 5), "18446744073709551608");
  EXPECT_EQ(filled({mark(FaultField::row), ',', mark(FaultField::column)}, 5 + 17, 5), "3,2");
  EXPECT_EQ(filled({mark(FaultField::row)}, 9, 0), "9");
}

TEST(ExportedMessage, reals_have_the_fewest_digits) {
  auto real = [](double v) { return filled({mark(FaultField::real)}, std::bit_cast<int64_t>(v), 0); };
  EXPECT_EQ(real(0.1), "0.1");
  EXPECT_EQ(real(-2.5), "-2.5");
  EXPECT_EQ(real(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(real(3), "3.0");
  EXPECT_EQ(real(1e300), "1e+300");
  EXPECT_EQ(real(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(real(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace

}  // namespace kw
