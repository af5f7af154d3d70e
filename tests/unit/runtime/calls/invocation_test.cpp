// Reading of arguments, and the check of arrays that a kernel writes.
#include "runtime/calls/invocation.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

using Words = std::vector<int64_t>;

template <class List>
Words words(const List &list) {
  return {list.begin(), list.end()};
}

TEST(Invocation, ReadsLayoutsAndNumbers) {
  Tensor a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor columns = a.view(a.data(), std::vector<int64_t>{2, 2}, std::vector<int64_t>{3, 1});
  Tensor turned = a.permuted(std::vector<size_t>{1, 0});
  Invocation call;
  call.add(a.array());
  call.add(columns.array());
  call.add(turned.array());
  call.add_number(ArgKind::weak_scalar, DType::i64, 7);
  call.add_unused();
  Signature s = signature_of(call.words);
  ASSERT_EQ(s.args.size(), 5u);
  EXPECT_EQ(s.args[0].stride_class, StrideClass::contiguous);
  EXPECT_EQ(s.args[1].stride_class, StrideClass::inner_unit);
  EXPECT_EQ(s.args[2].stride_class, StrideClass::general);
  EXPECT_EQ(s.args[3].kind, ArgKind::weak_scalar);
  EXPECT_EQ(s.args[4].kind, ArgKind::unused);
  EXPECT_EQ(words(call.extents), (Words{2, 3, 2, 2, 3, 2}));
  EXPECT_EQ(words(call.strides), (Words{3, 1, 3}));
  EXPECT_EQ(call.data.size(), 3u);
  Entry entry;
  entry.workspace = 64;
  CallWords abi = call.abi_words(entry);
  EXPECT_EQ(Words(abi.dims, abi.dims + 9), (Words{2, 3, 2, 2, 3, 2, 3, 1, 3}));
  EXPECT_EQ(abi.scalars[0], 7u);
  EXPECT_EQ(abi.workspace_bytes, 64);
}

TEST(Invocation, MarksStridedOutputs) {
  Tensor a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), turned = a.permuted(std::vector<size_t>{1, 0});
  Invocation plain, strided;
  plain.add_outputs(std::vector<ArrayView>{a.array(), {}});
  EXPECT_TRUE(plain.words.empty());
  strided.add_outputs(std::vector<ArrayView>{a.array(), {}, turned.array()});
  EXPECT_EQ(signature_of(strided.words).outs,
            (std::vector{StrideClass::contiguous, StrideClass::contiguous, StrideClass::general}));
  EXPECT_EQ(words(strided.strides), (Words{1, 3}));
}

/// Calls of a kernel k(x, y) with the result z, all float32 of rank 1.
struct Call : Invocation {
  Artifact artifact;
  CallArrays arrays;

  /// `written`: whether k writes x. Output z may overwrite y.
  explicit Call(bool written) {
    auto add = [&](const char *name, ParamMode mode, int32_t arg) {
      ParamRecord p;
      p.name = name, p.rank = 1, p.mode = mode, p.arg = arg;
      artifact.params.push_back(p);
    };
    add("x", written ? ParamMode::inout : ParamMode::in, 0);
    add("y", ParamMode::in, 1);
    add("z", ParamMode::out, -1);
    artifact.params[2].in_place = 2;
  }
  std::string check(const ArrayView &x, const ArrayView &y, const ArrayView &z = {}) {
    arrays.arguments.truncate(0), arrays.outputs.truncate(0);
    in_source_order = same_views = false, temporaries = 0;
    arrays.arguments.push_back(x), arrays.arguments.push_back(y);
    arrays.outputs.push_back(z);
    auto refused = check_written(*this, arrays, artifact, "k");
    return refused ? refused->message + " | " + refused->help : "";
  }
};

/// Elements `first`, `first` + step, … of a block.
Tensor part(const Tensor &block, int64_t first, int64_t count, int64_t step = 1) {
  return block.view(static_cast<float *>(block.data()) + first, std::vector<int64_t>{count},
                    std::vector<int64_t>{step});
}

TEST(Invocation, FindsOverlapsOfWrittenArguments) {
  Tensor block = Tensor::zeros(DType::f32, std::vector<int64_t>{16}), other = tensor({4}, {1, 2, 3, 4});
  Call call(true);
  EXPECT_EQ(call.check(part(block, 0, 4).array(), other.array()), "");
  EXPECT_FALSE(call.in_source_order || call.same_views);
  EXPECT_EQ(call.check(part(block, 0, 4).array(), part(block, 3, 4).array()), "");
  EXPECT_TRUE(call.in_source_order);
  // every other element: the ranges meet, but no byte is shared
  EXPECT_EQ(call.check(part(block, 0, 4, 2).array(), part(block, 1, 4, 2).array()), "");
  EXPECT_FALSE(call.in_source_order || call.same_views);
  EXPECT_EQ(call.check(part(block, 0, 4).array(), part(block, 0, 4).array()), "");
  EXPECT_TRUE(call.same_views && !call.in_source_order);
  call.add_alias_words(2, 1);
  EXPECT_EQ(words(call.words), (Words{alias_word(1, 0)}));
  // a number is no array
  EXPECT_EQ(call.check(part(block, 0, 4).array(), {}), "");
  EXPECT_FALSE(call.in_source_order || call.same_views);
}

TEST(Invocation, FindsOutputsThatNeedNewMemory) {
  Tensor block = Tensor::zeros(DType::f32, std::vector<int64_t>{16}), other = tensor({4}, {1, 2, 3, 4});
  Call call(false);
  EXPECT_EQ(call.check(other.array(), other.array(), part(block, 0, 4).array()), "");
  EXPECT_EQ(call.temporaries, 0u);
  EXPECT_EQ(call.check(other.array(), part(block, 0, 4).array(), part(block, 1, 4).array()), "");
  EXPECT_EQ(call.temporaries, 1u);
  // z may overwrite y, but not x
  EXPECT_EQ(call.check(other.array(), part(block, 0, 4).array(), part(block, 0, 4).array()), "");
  EXPECT_TRUE(call.temporaries == 0 && call.same_views);
  call.add_alias_words(2, 1);
  EXPECT_EQ(words(call.words), (Words{out_alias_word(0, 1)}));
  EXPECT_EQ(call.check(part(block, 0, 4).array(), other.array(), part(block, 0, 4).array()), "");
  EXPECT_EQ(call.temporaries, 1u);
  call.arrays.copied_arguments = 2;  // what the kernel reads is a copy of y
  EXPECT_EQ(call.check(other.array(), part(block, 0, 4).array(), part(block, 0, 4).array()), "");
  EXPECT_EQ(call.temporaries, 1u);
}

TEST(Invocation, RefusesArraysThatCannotBeWritten) {
  Tensor block = Tensor::zeros(DType::f32, std::vector<int64_t>{16}), other = tensor({4}, {1, 2, 3, 4});
  Tensor constant = other.read_only(), stretched = part(block, 0, 4, 0);
  Call argument(true), output(false);
  EXPECT_EQ(argument.check(constant.array(), other.array()),
            "argument 'x' of kernel 'k' is written but read-only | pass a writable copy: x.copy()");
  EXPECT_EQ(argument.check(stretched.array(), other.array()),
            "argument 'x' of kernel 'k' is written but several of its elements share memory | pass a copy: "
            "x.copy()");
  EXPECT_EQ(
      output.check(other.array(), other.array(), constant.array()),
      "out= of kernel 'k' is written but read-only | pass a writable array, or leave out= away and take "
      "the result");
  EXPECT_EQ(output.check(other.array(), other.array(), stretched.array()),
            "out= of kernel 'k' is written but several of its elements share memory | pass an array of its "
            "own, or leave out= away and take the result");
  argument.arrays.copied_arguments = 1;
  EXPECT_EQ(argument.check(part(block, 0, 4).array(), part(block, 3, 4).array()),
            "argument 'x' of kernel 'k' is written and overlaps argument 'y', and one of them is not aligned "
            "to its items | pass aligned arrays, or arrays that are apart");
  Tensor first = part(block, 0, 4), second = part(block, 3, 4);
  CallArrays two;
  two.arguments = output.arrays.arguments;
  two.outputs.push_back(first.array()), two.outputs.push_back(second.array());
  output.artifact.params.push_back(output.artifact.params[2]);
  EXPECT_EQ(check_written(output, two, output.artifact, "k")->message,
            "two arrays of out= of kernel 'k' overlap");
}

}  // namespace
}  // namespace kw
