// Tensors and their memory.
#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include "runtime/op_error.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

Shape shape_of(const Tensor &t) { return t.shape(); }

TEST(Tensor, HasRowMajorMemoryOfItsOwn) {
  Tensor t = Tensor::zeros(DType::f32, Shape{2, 3});
  EXPECT_EQ(t.size(), 6);
  EXPECT_EQ(t.bytes(), 24);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(Shape(t.strides()), (Shape{3, 1}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<float *>(t.data())[i], 0.0f);
  EXPECT_EQ(type_text(t.dtype(), t.shape()), "float32[2, 3]");
}

TEST(Tensor, SharesMemoryWithItsViews) {
  Tensor t = Tensor::zeros(DType::i32, Shape{2, 3});
  Tensor turned = t.permuted(std::vector<size_t>{1, 0});
  EXPECT_EQ(shape_of(turned), (Shape{3, 2}));
  EXPECT_EQ(turned.stride_class(), StrideClass::general);
  EXPECT_EQ(turned.data(), t.data());
  EXPECT_FALSE(turned.reshaped(Shape{6}));
  EXPECT_EQ(shape_of(t.reshaped(Shape{6})), (Shape{6}));
  Tensor row = Tensor::zeros(DType::i32, Shape{3});
  Tensor stretched = row.broadcast(Shape{4, 3});
  EXPECT_EQ(Shape(stretched.strides()), (Shape{0, 1}));
  EXPECT_EQ(stretched.stride_class(), StrideClass::inner_unit);
  EXPECT_EQ(address_range(stretched.array()).size(), 12u);
}

TEST(Tensor, ReleasesAdoptedMemoryOnce) {
  int released = 0;
  float memory[4] = {};
  {
    Tensor t =
        Tensor::over(Storage::adopt(memory, true, [&] { ++released; }), memory, DType::f32, Shape{4}, {});
    Tensor copy = t, view = t.detached();
    EXPECT_TRUE(copy.is(t));
    EXPECT_FALSE(view.is(t));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Tensor, ViewsOfReadOnlyTensorsAreReadOnly) {
  Tensor t = tensor({2, 2}, {1, 2, 3, 4});
  t.set_history({nullptr, 3, 5});
  Tensor fixed = t.read_only();
  EXPECT_TRUE(t.writable());
  EXPECT_FALSE(fixed.writable());
  EXPECT_EQ(fixed.data(), t.data());
  EXPECT_EQ(fixed.history().output, 3u);
  EXPECT_EQ(fixed.detached().history().output, 0u);
  for (const Tensor &view : {fixed.reshaped(Shape{4}), fixed.permuted(std::vector<size_t>{1, 0}),
                             fixed.broadcast(Shape{3, 2, 2}), fixed.detached()})
    EXPECT_FALSE(view.writable());
  EXPECT_FALSE(fixed.view(fixed.data(), Shape{1}, {}).writable());
  EXPECT_TRUE(t.view(t.data(), Shape{1}, {}).writable());
}

TEST(Shape, HoldsEightExtents) {
  Shape most(std::vector<int64_t>(8, 2));
  EXPECT_EQ(most.size(), 8u);
  EXPECT_EQ(most, Extents(std::vector<int64_t>(8, 2)));
  EXPECT_FALSE(most == Shape({2, 2}));
  EXPECT_EQ(Shape().size(), 0u);
  EXPECT_EQ(error_of<OpError>([] { Shape(std::vector<int64_t>(9, 1)); }),
            "a tensor of 9 dimensions; at most 8 are possible");
}

TEST(Tensor, RefusesShapesThatCannotBe) {
  auto of_shape = [](std::vector<int64_t> shape) {
    return error_of<OpError>([&] { Tensor::empty(DType::f32, shape); });
  };
  EXPECT_EQ(of_shape({2, -1}), "the shape (2, -1) has a negative extent");
  EXPECT_EQ(of_shape({1 << 30, 1 << 30}), "the shape (1073741824, 1073741824) exceeds 2^46 elements");
  EXPECT_EQ(of_shape(std::vector<int64_t>(9, 1)), "a tensor of 9 dimensions; at most 8 are possible");
  EXPECT_EQ(of_shape({int64_t{1} << 45, 0}), "no error");
  EXPECT_EQ(of_shape({int64_t{1} << 40, int64_t{1} << 40, 0}), "a tensor reaches beyond 2^46 elements");
}

TEST(Tensor, StretchesByNumpysRules) {
  EXPECT_EQ(broadcast_shape(Shape{3, 1}, Shape{4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast_shape(Shape{}, Shape{2}), (Shape{2}));
  EXPECT_EQ(broadcast_shape(Shape{1}, Shape{0}), (Shape{0}));
  EXPECT_EQ(error_of<OpError>([] { broadcast_shape(Shape{3}, Shape{4}); }),
            "the shapes (3,) and (4,) do not fit together");
  EXPECT_EQ(error_of<OpError>([] { Tensor::zeros(DType::f32, Shape{3}).broadcast(Shape{3, 2}); }),
            "a tensor of shape (3,) cannot be stretched to the shape (3, 2)");
}

}  // namespace
}  // namespace kw
