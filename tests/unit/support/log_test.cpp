// Messages wait for whoever passes them on.
#include "support/log.h"

#include <gtest/gtest.h>

namespace kw {

namespace {

TEST(Log, records_come_in_their_order_and_once) {
  take_log_records();
  EXPECT_FALSE(has_log_records());
  log_message(LogArea::cache, LogLevel::debug, "one");
  log_message(LogArea::compile, LogLevel::warning, "two");
  EXPECT_TRUE(has_log_records());
  std::vector<LogRecord> all = take_log_records();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text, "one");
  EXPECT_TRUE(all[1].area == LogArea::compile && all[1].level == LogLevel::warning && all[1].text == "two");
  EXPECT_TRUE(take_log_records().empty() && !has_log_records());
}

TEST(Log, the_oldest_are_dropped) {
  for (int i = 0; i < 300; ++i) log_message(LogArea::cache, LogLevel::info, std::to_string(i));
  std::vector<LogRecord> all = take_log_records();
  ASSERT_EQ(all.size(), 256u);
  EXPECT_EQ(all.front().text, "44");
  EXPECT_EQ(all.back().text, "299");
}

}  // namespace

}  // namespace kw
