// Registration and resolution.
#include "runtime/calls/registry.h"

#include <gtest/gtest.h>

#include "runtime/calls/call.h"
#include "runtime/op_error.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

KernelDef kernel(const char *op, BodyKind kind, double answer, std::vector<DTypeRow> rows = {},
                 int priority = 0) {
  KernelDef k;
  k.op = op;
  k.kind = kind;
  k.run = [answer](KernelContext &x) { x.outputs = {tensor({}, {answer})}; };
  k.rows = std::move(rows);
  k.priority = priority;
  k.source = answer == 1 ? "one.cpp:1" : "two.cpp:2";
  return k;
}

OpDef op(const char *name) { return {name, {{"x"}}, {{"y"}}}; }

TEST(Registry, TakesAllRowsOrNone) {
  Registry r;
  Registration rows;
  rows.ops = {op("t::good"), op("bad name"), {"t::twice", {{"x"}, {"x"}}, {{"y"}}}};
  rows.ops[0].attrs = {{"k", AttrType::integer, Attr("text")}};
  rows.kernels = {kernel("t::good", BodyKind::cpp_kernel, 1, {{DType::f32}}),
                  kernel("t::none", BodyKind::py_func, 2)};
  rows.grads = {{"t::good", GradKind::graph}, {"t::missing", GradKind::none}};
  EXPECT_EQ(error_of<OpError>([&] { r.commit(rows); }),
            "nothing was registered, because of 7 faults:\n"
            "  operator 't::good': the default of attribute 'k' is 'text', but its type is int\n"
            "  operator 'bad name': a name is written namespace::name\n"
            "  operator 't::twice': 'x' is declared twice\n"
            "  kernel CppKernel of 't::good' (one.cpp:1): a row of 1 dtype for 1 input and 1 output\n"
            "  kernel PyFunc (two.cpp:2): there is no operator 't::none'\n"
            "  gradient of 't::good': it has no code\n"
            "  gradient: there is no operator 't::missing'");
  EXPECT_TRUE(r.names().empty());
}

TEST(Registry, RefusesRangesThatHoldNoNumberOfTensors) {
  Registration rows;
  rows.ops = {{"t::f", {{"x", 3, 2}}, {{"y", 0, 0}}}};
  EXPECT_EQ(error_of<OpError>([&] { Registry().commit(rows); }),
            "nothing was registered, because of 2 faults:\n"
            "  operator 't::f': input 'x' is declared as 3 to 2 tensors\n"
            "  operator 't::f': output 'y' is declared as 0 to 0 tensors");
}

TEST(Registry, RefusesASecondOperatorOfOneName) {
  Registry r;
  Registration first;
  first.ops = {op("t::f")};
  first.ops[0].source = "one.cpp:1";
  Registration again = first;
  again.ops[0].source = "two.cpp:2";
  r.commit(first);
  EXPECT_EQ(error_of<OpError>([&] { r.commit(again); }),
            "nothing was registered, because of 1 fault:\n"
            "  operator 't::f' (two.cpp:2) is registered already (one.cpp:1)");
  EXPECT_TRUE(r.remove("t::f"));
  EXPECT_FALSE(r.remove("t::f"));
  r.commit(again);
  EXPECT_EQ(r.find("t::f")->def.source, "two.cpp:2");
}

TEST(Registry, AddsKernelsToAnOperatorThatIsThere) {
  Registry r;
  Registration rows;
  rows.ops = {op("t::f")};
  r.commit(rows);
  std::shared_ptr<const Operator> before = r.find("t::f");
  Registration more;
  more.kernels = {kernel("t::f", BodyKind::jit_loop, 1)};
  more.grads = {{"t::f", GradKind::none}};
  r.commit(more);
  EXPECT_TRUE(before->kernels.empty());
  EXPECT_EQ(r.find("t::f")->kernels.size(), 1u);
  EXPECT_EQ(error_of<OpError>([&] { r.commit({{}, {}, {{"t::f", GradKind::none}}}); }),
            "nothing was registered, because of 1 fault:\n  gradient of 't::f': it has one already");
  EXPECT_EQ(error_of<OpError>([&] { r.need("t::g"); }), "there is no operator 't::g'; did you mean 't::f'?");
}

TEST(Registry, ChecksInputsThatBecomeOutputs) {
  OpDef def{"t::f", {OpInput::list("xs"), {.name = "y", .is_mutable = true}}, {{"z"}, {"w", 1, 2}}};
  KernelDef k = kernel("t::f", BodyKind::cpp_kernel, 1, {{DType::f32, {}, {}}});  // lists: any length of rows
  auto faults = [&](std::pair<uint32_t, uint32_t> pair) {
    k.in_place = {pair};
    return error_of<OpError>([&] { make_op(def, {k}, {}); });
  };
  std::string head =
      "nothing was registered, because of 1 fault:\n  kernel CppKernel of 't::f' (one.cpp:1): ";
  EXPECT_EQ(faults({0, 1}),
            head + "output 0 cannot be input 1: both must be one tensor, and no list may precede them");
  EXPECT_EQ(faults({0, 2}), head + "output 0 cannot be input 2: there are 2 inputs and 2 outputs");
  EXPECT_EQ(faults({0, 0}), head + "it writes input 'xs', which is not declared mutable");
  def.inputs.erase(def.inputs.begin());
  EXPECT_EQ(faults({0, 0}), "no error");
  EXPECT_EQ(faults({1, 0}),
            head + "output 1 cannot be input 0: both must be one tensor, and no list may precede them");
  def.inputs[0].min = 0;
  EXPECT_EQ(faults({0, 0}),
            head + "output 0 cannot be input 0: both must be one tensor, and no list may precede them");
}

TEST(Registry, TakesPendingRowsOnce) {
  Registration rows;
  rows.ops = {op("t::pending")};
  add_pending(rows);
  add_pending({});
  EXPECT_EQ(take_pending().ops.size(), 1u);
  EXPECT_TRUE(take_pending().empty());
}

TEST(Registry, HasTheBuiltInOperators) {
  EXPECT_TRUE(registry().find("kw::add"));
  EXPECT_TRUE(registry().find("kw::matmul"));
  EXPECT_GT(registry().names().size(), 40u);
}

/// The answer of an operator with these kernels.
double answer(std::vector<KernelDef> kernels, const Tensor &x, std::optional<BodyKind> kind = {}) {
  OpCall call{make_op(op("t::f"), std::move(kernels), {}), {x}};
  call.kind = kind;
  return values(call_op(call)[0])[0];
}

TEST(Resolution, PrefersByPriorityThenByKind) {
  using K = BodyKind;
  Tensor x = tensor({2}, {0, 0});
  EXPECT_EQ(answer({kernel("t::f", K::py_func, 1), kernel("t::f", K::jit_loop, 2)}, x), 2);
  EXPECT_EQ(answer({kernel("t::f", K::cpp_kernel, 1), kernel("t::f", K::aot_symbol, 2)}, x), 1);
  EXPECT_EQ(answer({kernel("t::f", K::cpp_kernel, 1), kernel("t::f", K::py_func, 2, {}, 1)}, x), 2);
  EXPECT_EQ(answer({kernel("t::f", K::cpp_kernel, 1), kernel("t::f", K::py_func, 2)}, x, K::py_func), 2);
  EXPECT_EQ(answer({kernel("t::f", K::cpp_kernel, 1, {{DType::i32, {}}}), kernel("t::f", K::py_func, 2)}, x),
            2);
}

TEST(Resolution, AKernelWithoutADeviceRunsOnAny) {
  KernelDef on_gpu = kernel("t::f", BodyKind::cpp_kernel, 1), on_any = kernel("t::f", BodyKind::py_func, 2);
  on_gpu.device = DeviceKind::cuda;
  on_any.device = {};
  EXPECT_EQ(answer({on_gpu, on_any}, tensor({2}, {0, 0})), 2);
}

TEST(Resolution, TellsWhyNoKernelRuns) {
  KernelDef needy = kernel("t::f", BodyKind::cpp_kernel, 1);
  needy.predicate = {"three dimensions", [](const OpCall &c) { return c.inputs[0].rank() == 3; }};
  KernelDef on_gpu = kernel("t::f", BodyKind::aot_symbol, 2);
  on_gpu.device = DeviceKind::cuda;
  KernelDef typed = kernel("t::f", BodyKind::py_func, 1, {{DType::i32, {}}, {DType::i64, DType::i64}});
  Tensor x = tensor({2}, {0, 0});
  EXPECT_EQ(error_of<OpError>([&] { answer({needy, on_gpu, typed}, x); }),
            "no kernel of t::f runs f(float32[2]):\n"
            "  CppKernel (one.cpp:1) needs three dimensions\n"
            "  AotSymbol (two.cpp:2) runs on CUDA, not on CPU\n"
            "  PyFunc (one.cpp:1) takes the dtypes (int32, any) or (int64, int64)");
  EXPECT_EQ(error_of<OpError>([&] { answer({}, x); }), "no kernel of t::f runs f(float32[2]): it has none");
  EXPECT_EQ(error_of<OpError>([&] {
              answer({kernel("t::f", BodyKind::py_func, 1), kernel("t::f", BodyKind::py_func, 2)}, x);
            }),
            "two kernels of t::f run f(float32[2]) equally well: PyFunc (one.cpp:1) and PyFunc (two.cpp:2); "
            "give one of them a higher priority");
}

}  // namespace
}  // namespace kw
