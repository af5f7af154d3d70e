// Operator calls: checks, attributes, what kernels make.
#include "runtime/calls/call.h"

#include <gtest/gtest.h>

#include "runtime/op_error.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

/// Scales its first input by the attribute k, in double precision.
std::shared_ptr<const Operator> scale_op(bool infers = true) {
  OpDef def{"t::scale", {{"x"}, {"mask", Arity::optional}, {"rest", Arity::dynamic}}, {"y"}};
  def.attrs = {{"k", AttrType::real, Attr(2)},
               {"mode", AttrType::text, Attr("up"), [](const Attr &a) -> std::string {
                  return *a.as<std::string>() == "up" ? "" : "must be 'up'";
                }}};
  if (infers)
    def.infer = [](const OpCall &c) {
      return std::vector<TensorType>{{c.inputs[0].dtype(), c.inputs[0].shape()}};
    };
  KernelDef k;
  k.op = def.name;
  k.source = "scale.cpp:9";
  k.run = [](const OpCall &c, std::span<const TensorType>) {
    Values v = values(c.inputs[0]);
    for (double &x : v) x *= c.get<double>("k") * static_cast<double>(c.counts[2] + 1);
    return std::vector{tensor({static_cast<int64_t>(v.size())}, v)};
  };
  return make_op(std::move(def), {k}, {});
}

OpCall scale(Attrs attrs = {}) {
  return {scale_op(), {tensor({2}, {1, 2}), Tensor()}, std::move(attrs), {1, 1, 0}};
}

TEST(Call, FillsInAndConvertsAttributes) {
  EXPECT_EQ(values(call_op(scale())[0]), (Values{2, 4}));
  EXPECT_EQ(values(call_op(scale({{"k", Attr(3)}}))[0]), (Values{3, 6}));
  OpCall many = scale();
  many.inputs.insert(many.inputs.end(), 2, many.inputs[0]);
  many.counts = {1, 1, 2};
  EXPECT_EQ(values(call_op(many)[0]), (Values{6, 12}));
  EXPECT_EQ(call_text(scale({{"k", Attr(0.5)}})), "scale(float32[2], None, k=0.5)");
}

TEST(Call, RefusesCallsThatDoNotFit) {
  EXPECT_EQ(error_of<OpError>([] { call_op(scale({{"k", Attr("x")}})); }),
            "attribute 'k' of t::scale must be float, but got 'x'");
  EXPECT_EQ(error_of<OpError>([] { call_op(scale({{"mode", Attr("down")}})); }),
            "attribute 'mode' of t::scale must be 'up'");
  EXPECT_EQ(error_of<OpError>([] { call_op(scale({{"z", Attr(1)}})); }),
            "t::scale has no attribute 'z'; it has k, mode");
  OpCall call = scale();
  call.inputs[0] = Tensor();
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }), "input 'x' of t::scale is missing");
  call = scale();
  call.counts = {2, 0, 0};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }),
            "input 'x' of t::scale is one tensor, but 2 were given");
  call.counts = {};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }), "t::scale takes 3 inputs, but 2 were given");
  EXPECT_EQ(error_of<OpError>([] { call_op("kw::broadcast_to", {tensor({1}, {1})}); }),
            "attribute 'shape' of kw::broadcast_to is missing");
}

TEST(Call, ChecksWhatAKernelMakes) {
  OpCall call = scale();
  call.inputs[0] = tensor({1, 2}, {1, 2});
  EXPECT_EQ(
      error_of<OpError>([&] { call_op(call); }),
      "CppKernel (scale.cpp:9) of t::scale makes float32[2] as output 0, but float32[1, 2] was inferred");
  call.op = scale_op(false);
  EXPECT_EQ(values(call_op(call)[0]), (Values{2, 4}));
}

TEST(Attr, ConvertsAsTypesAllow) {
  Attr list(1);
  EXPECT_TRUE(convert_attr(list, AttrType::reals));
  EXPECT_EQ(attr_text(list), "[1.0]");
  Attr truth(true), text("a");
  EXPECT_FALSE(convert_attr(truth, AttrType::integer));
  EXPECT_FALSE(convert_attr(text, AttrType::integers));
  EXPECT_EQ(attr_text(Attr(std::vector<Attr>{Attr(), Attr(DType::f16), Attr("b")})), "[None, float16, 'b']");
}

}  // namespace
}  // namespace kw
