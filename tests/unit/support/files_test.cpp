// Whole files are read, and missing ones are empty.
#include "support/files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace kw {
namespace {

TEST(Files, all_bytes_are_read) {
  std::string path = ::testing::TempDir() + "kw_files_test", bytes("a\0b\r\n", 5);
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(read_file(path), bytes);
  std::remove(path.c_str());
  EXPECT_EQ(read_file(path), "");
}

}  // namespace
}  // namespace kw
