// Operator calls: checks, attributes, what kernels make.
#include "runtime/calls/call.h"

#include <gtest/gtest.h>

#include "runtime/op_error.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

/// Scales its first input by the attribute k, in double precision.
std::shared_ptr<const Operator> scale_op(bool infers = true) {
  OpDef def{"t::scale", {{"x"}, OpInput::optional("mask"), OpInput::list("rest")}, {{"y"}}};
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
  k.makes_outputs = true;
  k.run = [](KernelContext &x) {
    Values v = values(x.call.inputs[0]);
    for (double &e : v) e *= x.call.get<double>("k") * static_cast<double>(x.call.counts[2] + 1);
    x.outputs = {tensor({static_cast<int64_t>(v.size())}, v)};
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

/// Repeats its input as often as the call counts outputs.
std::shared_ptr<const Operator> repeat_op() {
  OpDef def{"t::repeat", {OpInput::list("x", 2)}, {{"y", 1, 3}}};
  KernelDef k;
  k.op = def.name;
  k.source = "repeat.cpp:4";
  k.run = [](KernelContext &x) {
    const OpCall &c = x.call;
    x.outputs.assign(c.out_counts.empty() ? 4 : c.out_counts[0], c.inputs[0].detached());
  };
  return make_op(std::move(def), {k}, {});
}

TEST(Call, CountsTheTensorsOfListsAndOutputs) {
  Tensor x = tensor({1}, {5});
  OpCall call{repeat_op(), {x, x}, {}, {2}, {3}};
  EXPECT_EQ(call_op(call).size(), 3u);
  call.counts = {1}, call.inputs.pop_back();
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }),
            "input 'x' of t::repeat is at least 2 tensors, but 1 were given");
  call = {repeat_op(), {x, x}, {}, {2}, {4}};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }),
            "output 'y' of t::repeat is 1 to 3 tensors, but the call asks for 4");
  call.out_counts = {1, 1};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }), "t::repeat has 1 output, but the call counts 2");
  call.out_counts = {};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }),
            "CppKernel (repeat.cpp:4) of t::repeat makes 4 outputs, but 1 to 3 tensors are declared");
}

TEST(Call, AnOperatorChecksTensorsAndAttributesTogether) {
  OpDef def{"t::take", {{"x"}}, {{"y"}}, {{"axis", AttrType::integer, Attr(0)}}};
  def.check = [](const OpCall &c) {
    if (c.get<int64_t>("axis") >= static_cast<int64_t>(c.inputs[0].rank()))
      throw_value_error("axis is out of range");
  };
  bool inferred = false;
  def.infer = [&](const OpCall &c) {
    inferred = true;
    return std::vector<TensorType>{{c.inputs[0].dtype(), c.inputs[0].shape()}};
  };
  KernelDef k;
  k.op = def.name;
  k.run = [](KernelContext &x) { x.outputs = {x.call.inputs[0].detached()}; };
  auto op = make_op(std::move(def), {k}, {});
  Tensor x = tensor({1}, {5});
  EXPECT_EQ(error_of<OpError>([&] { call_op(OpCall{op, {x}, {{"axis", Attr(1)}}}); }),
            "axis is out of range");
  EXPECT_FALSE(inferred);
  EXPECT_EQ(values(call_op(OpCall{op, {x}})[0]), (Values{5}));
}

/// Adds the number of its runs, which it writes into a workspace first.
TEST(Call, AKernelGetsOutputsAWorkspaceAndItsState) {
  OpDef def{"t::count", {{"x"}}, {{"y"}}};
  def.infer = [](const OpCall &c) {
    return std::vector<TensorType>{{c.inputs[0].dtype(), c.inputs[0].shape()}};
  };
  KernelDef k;
  k.op = def.name;
  k.workspace = [](const OpCall &c, std::span<const TensorType> types) {
    return c.inputs[0].size() ? static_cast<size_t>(types[0].shape[0]) * sizeof(float) : 0;
  };
  k.make_state = [](const OpCall &) { return std::make_shared<int>(0); };
  const void *given = nullptr;
  k.run = [&](KernelContext &x) {
    auto *scratch = reinterpret_cast<float *>(x.workspace.data());
    int &runs = *static_cast<int *>(x.state);
    ++runs;
    for (size_t i = 0; i < x.workspace.size() / sizeof(float); ++i) scratch[i] = static_cast<float>(runs);
    for (int64_t i = 0; i < x.outputs[0].size(); ++i)
      static_cast<float *>(x.outputs[0].data())[i] =
          scratch[i] + static_cast<const float *>(x.call.inputs[0].data())[i];
    given = x.outputs[0].data();
    EXPECT_EQ(x.stream.handle, nullptr);
  };
  auto op = make_op(def, {k}, {}), other = make_op(def, {k}, {});
  Tensor x = tensor({2}, {10, 20});
  Tensor first = call_op(OpCall{op, {x}})[0];
  EXPECT_EQ(first.data(), given);
  EXPECT_EQ(values(first), (Values{11, 21}));
  EXPECT_EQ(values(call_op(OpCall{op, {x}})[0]), (Values{12, 22}));
  EXPECT_EQ(values(call_op(OpCall{other, {x}})[0]), (Values{11, 21})) << "each kernel has its own state";
  EXPECT_EQ(call_op(OpCall{op, {tensor({0}, {})}})[0].size(), 0);
}

TEST(Call, AKernelMayChangeAnInputInPlace) {
  OpDef def{"t::twice", {{.name = "x", .is_mutable = true}}, {{"y"}}};
  def.infer = [](const OpCall &c) {
    return std::vector<TensorType>{{c.inputs[0].dtype(), c.inputs[0].shape()}};
  };
  KernelDef k;
  k.op = def.name;
  k.in_place = {{0, 0}};
  k.run = [](KernelContext &x) {
    for (int64_t i = 0; i < x.outputs[0].size(); ++i) static_cast<float *>(x.outputs[0].data())[i] *= 2;
  };
  Tensor x = tensor({2}, {1, 2});
  Tensor y = call_op(OpCall{make_op(def, {k}, {}), {x}})[0];
  EXPECT_TRUE(y.is(x));
  EXPECT_EQ(values(x), (Values{2, 4}));
  EXPECT_EQ(x.storage().writes(), 1u);
  EXPECT_EQ(error_of<OpError>([&] { call_op(OpCall{make_op(def, {k}, {}), {x.read_only()}}); }),
            "input 'x' of t::twice is written but read-only");
  def.infer = [](const OpCall &) { return std::vector<TensorType>{{DType::f32, {4}}}; };
  k.source = "twice.cpp:3";
  EXPECT_EQ(error_of<OpError>([&] { call_op(OpCall{make_op(def, {k}, {}), {x}}); }),
            "input 'x' of t::twice is float32[2], and CppKernel (twice.cpp:3) changes it in place, but "
            "float32[4] was inferred for output 0");
  EXPECT_EQ(values(x), (Values{2, 4}));
}

TEST(Call, CountsInferredOutputs) {
  OpDef def{"t::some", {{"x"}}, {{"y", 1, 3}}};
  size_t count = 5;
  def.infer = [&](const OpCall &c) {
    return std::vector<TensorType>(count, {c.inputs[0].dtype(), c.inputs[0].shape()});
  };
  KernelDef k;
  k.op = def.name;
  k.run = [](KernelContext &) {};
  OpCall call{make_op(def, {k}, {}), {tensor({1}, {5})}};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }),
            "the inference of t::some gives 5 outputs, but 1 to 3 tensors are declared");
  count = 2;
  EXPECT_EQ(call_op(call).size(), 2u);
  call.out_counts = {3};
  EXPECT_EQ(error_of<OpError>([&] { call_op(call); }),
            "the inference of t::some gives 2 outputs, but 3 are declared");
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

TEST(Attr, NumbersFitTheirWord) {
  auto fits = [](Attr a, DType word) { return find_misfit(a, word) == nullptr; };
  EXPECT_TRUE(fits(Attr(-128), DType::i8) && fits(Attr(127), DType::i8) && !fits(Attr(128), DType::i8));
  EXPECT_TRUE(fits(Attr(255), DType::u8) && !fits(Attr(256), DType::u8) && !fits(Attr(-1), DType::u8));
  EXPECT_TRUE(fits(Attr(INT64_MIN), DType::i64) && fits(Attr(INT64_MAX), DType::u64));
  EXPECT_FALSE(fits(Attr(-1), DType::u64));
  EXPECT_TRUE(fits(Attr(0.1), DType::f32) && fits(Attr(INFINITY), DType::f32) && fits(Attr(NAN), DType::f32));
  EXPECT_TRUE(!fits(Attr(1e39), DType::f32) && fits(Attr(1e39), DType::f64));
  Attr list(std::vector<Attr>{Attr(1), Attr(300), Attr(2)});
  EXPECT_EQ(*find_misfit(list, DType::u8), Attr(300));
}

TEST(Call, AnAttributeOutsideItsWordIsRefused) {
  OpDef def{"t::f", {{"x"}}, {{"y"}}, {{"n", AttrType::integers, Attr(1)}}};
  def.attrs[0].word = DType::i32;
  KernelDef k;
  k.op = def.name;
  k.run = [](KernelContext &x) { x.outputs = {x.call.inputs[0].detached()}; };
  auto op = make_op(def, {k}, {});
  Attr wide(std::vector<Attr>{Attr(1), Attr(int64_t{1} << 31)});
  EXPECT_EQ(error_of<OpError>([&] { call_op(OpCall{op, {tensor({1}, {5})}, {{"n", wide}}}); }),
            "attribute 'n' of t::f: 2147483648 does not fit into int32");
  def.attrs[0].fallback = Attr(int64_t{1} << 31);
  EXPECT_EQ(error_of<OpError>([&] { make_op(def, {k}, {}); }),
            "nothing was registered, because of 1 fault:\n"
            "  operator 't::f': the default 2147483648 of attribute 'n' does not fit into int32");
}

TEST(Attr, ListsOfDtypesAndShapes) {
  Attr dtypes(std::vector<Attr>{Attr("float32"), Attr(DType::i8)});
  EXPECT_TRUE(convert_attr(dtypes, AttrType::dtypes));
  EXPECT_EQ(attr_text(dtypes), "[float32, int8]");
  Attr shape(2), shapes(std::vector<Attr>{Attr(2), Attr(std::vector<Attr>{Attr(-1), Attr(3)})});
  EXPECT_TRUE(convert_attr(shape, AttrType::shape));
  EXPECT_EQ(attr_text(shape), "[2]");
  EXPECT_TRUE(convert_attr(shapes, AttrType::shapes));
  EXPECT_EQ(attr_text(shapes), "[[2], [-1, 3]]");
  Attr wrong(std::vector<Attr>{Attr(0.5)});
  EXPECT_FALSE(convert_attr(wrong, AttrType::shape));
  EXPECT_EQ(attr_type_name(AttrType::shapes), "list of shape");
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
