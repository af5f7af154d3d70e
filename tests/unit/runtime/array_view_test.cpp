// Layouts of arrays, and which bytes they share. The oracle lists all bytes.
#include "runtime/array_view.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "support/text.h"

namespace kw {
namespace {

/// An array over a block of bytes, with strides in bytes as NumPy has them.
struct Array {
  std::vector<int64_t> extents, strides;
  DType dtype = DType::f32;
  int64_t offset = 0;

  ArrayView view() const {
    static std::byte block[1 << 14];
    return {block + (1 << 13) + offset,
            extents.data(),
            strides.data(),
            1,
            dtype,
            static_cast<uint8_t>(extents.size()),
            true};
  }
  /// The offsets of the bytes of all elements; elements that share a byte give it several times.
  std::multiset<int64_t> bytes() const {
    std::vector<int64_t> starts{offset};
    for (size_t d = 0; d < extents.size(); ++d) {
      std::vector<int64_t> more;
      for (int64_t start : starts)
        for (int64_t i = 0; i < extents[d]; ++i) more.push_back(start + i * strides[d]);
      starts = more;
    }
    std::multiset<int64_t> out;
    for (int64_t start : starts)
      for (int64_t b = 0; b < item_size(dtype); ++b) out.insert(start + b);
    return out;
  }
  std::string text() const {
    std::string out = cat(numpy_name(dtype), " at ", offset, ":");
    for (size_t d = 0; d < extents.size(); ++d) out += cat(" ", extents[d], "*", strides[d]);
    return out;
  }
};

Array random_array(std::mt19937 &random) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  constexpr DType dtypes[] = {DType::i8, DType::i16, DType::f32, DType::f64};
  Array a;
  a.dtype = dtypes[pick(0, 3)];
  a.offset = pick(-40, 40);
  for (int64_t rank = pick(0, 3); rank > 0; --rank) {
    a.extents.push_back(pick(0, 5));
    a.strides.push_back(pick(-24, 24));
  }
  return a;
}

TEST(ArrayView, FindsTheClassOfALayout) {
  auto classify = [](std::vector<int64_t> extents, std::vector<int64_t> strides) {
    return stride_class(Array{std::move(extents), std::move(strides)}.view());
  };
  EXPECT_EQ(classify({}, {}), StrideClass::contiguous);
  EXPECT_EQ(classify({2, 3}, {12, 4}), StrideClass::contiguous);
  EXPECT_EQ(classify({2, 3}, {16, 4}), StrideClass::inner_unit);
  EXPECT_EQ(classify({2, 3}, {4, 8}), StrideClass::general);
  EXPECT_EQ(classify({3}, {-4}), StrideClass::general);
  EXPECT_EQ(classify({1, 3}, {400, 4}), StrideClass::contiguous);  // one row: its stride separates nothing
  EXPECT_EQ(classify({2, 0}, {7, 7}), StrideClass::contiguous);
  EXPECT_EQ(classify({2, 1}, {8, 8}), StrideClass::general);
}

TEST(ArrayView, BoundsItsReach) {
  auto reaches = [](std::vector<int64_t> extents, std::vector<int64_t> strides) {
    return is_in_reach(Array{std::move(extents), std::move(strides)}.view());
  };
  int64_t far = int64_t{1} << 45;
  EXPECT_TRUE(reaches({2, 2}, {1024, 4}));
  EXPECT_TRUE(reaches({far}, {4}));
  EXPECT_FALSE(reaches({2 * far}, {4}));        // 2^46 elements
  EXPECT_FALSE(reaches({2 * far, 0}, {0, 4}));  // an extent alone
  EXPECT_FALSE(reaches({2}, {4 * far}));
  EXPECT_FALSE(reaches({2}, {-4 * far}));
  EXPECT_FALSE(reaches({3, 3}, {INT64_MAX, INT64_MAX}));
}

TEST(ArrayView, FindsSharedBytesAsAListOfAllDoes) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(cat("seed ", seed));
  std::mt19937 random(seed);
  size_t shared = 0, apart_in_one_range = 0;
  for (int round = 0; round < 5000; ++round) {
    Array a = random_array(random), b = random_array(random);
    std::multiset<int64_t> x = a.bytes(), y = b.bytes();
    bool wanted = false;
    for (int64_t byte : x) wanted |= y.contains(byte);
    ASSERT_EQ(share_bytes(a.view(), b.view()), wanted) << a.text() << " and " << b.text();
    bool meet = !x.empty() && !y.empty() && *x.begin() <= *y.rbegin() && *y.begin() <= *x.rbegin();
    ASSERT_EQ(ranges_meet(a.view(), b.view()), meet) << a.text() << " and " << b.text();
    bool twice = std::set<int64_t>(x.begin(), x.end()).size() != x.size();
    ASSERT_EQ(overlaps_itself(a.view()), twice) << a.text();
    shared += wanted, apart_in_one_range += meet && !wanted;
  }
  EXPECT_GT(shared, 250u);
  EXPECT_GT(apart_in_one_range, 250u);
}

TEST(ArrayView, TakesALongSearchForAShare) {
  // a shared byte would need 8 of these 16 strides whose last digits add up to one more than 8 times 3, so
  // there is none, but only all 12,870 choices show it
  Array a{std::vector<int64_t>(8, 2), {}, DType::i8, 0}, b = a;
  for (int64_t i = 0; i < 8; ++i)
    a.strides.push_back(1'000'003 + 10 * i), b.strides.push_back(1'000'083 + 10 * i);
  b.offset = 1;
  EXPECT_TRUE(share_bytes(a.view(), b.view()));
  a.extents.resize(6), a.strides.resize(6), b.extents.resize(6), b.strides.resize(6);
  EXPECT_FALSE(share_bytes(a.view(), b.view()));
  Array even{{1 << 20}, {2}, DType::i8, 0}, odd{{1 << 20}, {2}, DType::i8, 1};
  EXPECT_FALSE(share_bytes(even.view(), odd.view()));
  // as many elements as are listed, and one more
  Array listed{{1 << 8, 1 << 8}, {1, 1}, DType::i8, 0},
      longer{{1 << 8, (1 << 8) + 1}, {1000, 999}, DType::i8, 0};
  EXPECT_TRUE(overlaps_itself(listed.view()));
  EXPECT_TRUE(overlaps_itself(longer.view()));
}

TEST(ArrayView, ComparesViews) {
  Array a{{2, 3}, {12, 4}}, same = a, other = a;
  EXPECT_TRUE(is_same_view(a.view(), same.view()));
  other.strides = {4, 8};
  EXPECT_FALSE(is_same_view(a.view(), other.view()));
  other = a, other.dtype = DType::i32;
  EXPECT_FALSE(is_same_view(a.view(), other.view()));
  other = a, other.offset = 4;
  EXPECT_FALSE(is_same_view(a.view(), other.view()));
  Array row{{1, 3}, {12, 4}}, same_row{{1, 3}, {999, 4}};
  EXPECT_TRUE(is_same_view(row.view(), same_row.view()));
  EXPECT_FALSE(is_same_view(row.view(), a.view()));
}

}  // namespace
}  // namespace kw
