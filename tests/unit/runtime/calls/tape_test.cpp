// Gradients of recorded calls.
#include "runtime/calls/tape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

/// The gradient of the sum of f's results by its argument.
template <class F>
Tensor gradient_of(F &&f, const Tensor &at) {
  bool outer = is_recording();
  GradModeGuard on(true);
  Tensor x = make_variable(at);
  Tensor y = f(x);
  GradModeGuard as_before(outer);
  return gradients({y}, {}, {x})[0];
}

TEST(Tape, GoesBackThroughCalls) {
  Interpreted interpreted;
  Tensor x = tensor({3}, {1, 2, 3});
  EXPECT_EQ(values(gradient_of([](const Tensor &t) { return ops::mul(t, t); }, x)), (Values{2, 4, 6}));
  auto twice = [](const Tensor &t) { return ops::add(t, ops::mul(t, t)); };
  EXPECT_EQ(values(gradient_of(twice, x)), (Values{3, 5, 7}));
  Tensor column = tensor({2, 1}, {10, 20});
  auto stretched = [&](const Tensor &t) { return ops::mul(t, x); };
  EXPECT_EQ(values(gradient_of(stretched, column)), (Values{6, 6}));
}

TEST(Tape, DifferentiatesGradients) {
  Interpreted interpreted;
  auto cube = [](const Tensor &t) { return ops::mul(t, ops::mul(t, t)); };
  auto slope = [&](const Tensor &t) { return gradient_of(cube, t); };
  auto bend = [&](const Tensor &t) { return gradient_of(slope, t); };
  Tensor x = tensor({2}, {2, 3});
  EXPECT_EQ(values(slope(x)), (Values{12, 27}));
  EXPECT_EQ(values(gradient_of(slope, x)), (Values{12, 18}));
  EXPECT_EQ(values(gradient_of(bend, x)), (Values{6, 6}));
}

TEST(Tape, GivesNoneWhereNothingDepends) {
  Interpreted interpreted;
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({1}, {1})), other = make_variable(tensor({1}, {1}));
  Tensor y = ops::exp(x);
  auto found = gradients({y}, {tensor({1}, {3})}, {other, x});
  EXPECT_FALSE(found[0]);
  EXPECT_NEAR(values(found[1])[0], 3 * std::exp(1.0), 1e-5);
  EXPECT_EQ(error_of<OpError>([&] { gradients({y}, {}, {tensor({1}, {1})}); }),
            "a gradient was asked for by a tensor that was no variable when the calls were made");
}

TEST(Tape, SaysWhichOperatorHasNoGradient) {
  Interpreted interpreted;
  std::string text = error_of<OpError>([] {
    gradient_of(
        [](const Tensor &t) { return ops::cast(call_op("kw::argmax", {ops::mul(t, t)})[0], DType::f32); },
        tensor({2}, {1, 2}));
  });
  EXPECT_EQ(text, "no error");  // an index is constant almost everywhere
  OpDef def{"t::plain", {{"x"}}, {{"y"}}, {}, {}, {}, "plain.py:3"};
  KernelDef k{"t::plain", BodyKind::py_func,
              [](KernelContext &x) { x.outputs = {x.call.inputs[0].detached()}; }};
  auto plain = make_op(def, {k}, {});
  auto f = [&](const Tensor &t) { return call_op(OpCall{plain, {t}})[0]; };
  EXPECT_EQ(error_of<OpError>([&] { gradient_of(f, tensor({1}, {1})); }),
            "the gradient of t::plain (plain.py:3) was asked for, but none was given when it was made: "
            "`bprop=` gives one");
}

/// f(x) = 2 x whose gradient is `back`, reading what it saves.
std::shared_ptr<const Operator> doubled(std::function<std::vector<Tensor>(const GradCall &)> back) {
  OpDef def{"t::doubled", {{"x"}}, {{"y"}}};
  KernelDef k{"t::doubled", BodyKind::cpp_kernel,
              [](KernelContext &x) { x.outputs = {ops::add(x.call.inputs[0], x.call.inputs[0])}; }};
  return make_op(def, {k}, GradDef{"t::doubled", GradKind::function, std::move(back)});
}

TEST(Tape, ChecksWhatGradientsReturn) {
  Interpreted interpreted;
  auto with = [](std::vector<Tensor> result) {
    auto op = doubled([result](const GradCall &) { return result; });
    return error_of<OpError>([&] {
      gradient_of([&](const Tensor &t) { return call_op(OpCall{op, {t}})[0]; }, tensor({2}, {1, 2}));
    });
  };
  EXPECT_EQ(with({tensor({2}, {1, 1})}), "no error");
  EXPECT_EQ(with({Tensor()}), "no error");
  EXPECT_EQ(with({}), "the gradient of t::doubled returns 0 values, but must return one per input: 1");
  EXPECT_EQ(with({tensor({1}, {1})}),
            "the gradient of t::doubled returns float32[1] for the input 'x', which is float32[2]");
}

/// y = exp(x), whose kernel saves y / 2 for the gradient.
TEST(Tape, GradientsFindWhatTheKernelSaved) {
  Interpreted interpreted;
  OpDef def{"t::exp", {{"x"}}, {{"y"}}};
  Tensor saved;
  KernelDef k{"t::exp", BodyKind::cpp_kernel, [&](KernelContext &x) {
                x.outputs = {ops::exp(x.call.inputs[0])};
                saved = ops::mul(x.outputs[0], ops::number(DType::f32, 0.5));
                x.saved = {saved};
              }};
  GradDef grad{"t::exp", GradKind::graph, [](const GradCall &g) {
                 return std::vector{ops::mul(g.grads[0], ops::add(g.saved[0], g.saved[0]))};
               }};
  grad.saves_inputs = grad.saves_outputs = false;
  auto op = make_op(def, {k}, grad);
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({2}, {0, 0}));
  Tensor y = call_op(OpCall{op, {x}})[0];
  Tensor slope = gradients({y}, {}, {x})[0];
  EXPECT_EQ(values(slope), (Values{1, 1}));
  EXPECT_EQ(error_of<OpError>([&] { gradients({slope}, {}, {x}); }),
            "the gradient of t::exp does not exist: its gradient reads what its kernel saved, of which no "
            "gradient is known");
  saved.storage().note_write();
  EXPECT_EQ(error_of<OpError>([&] { gradients({y}, {}, {x}); }),
            "the gradient of t::exp cannot be computed: memory that its kernel saved was written after the "
            "call");
}

TEST(Tape, RefusesMemoryThatWasWritten) {
  Interpreted interpreted;
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({2}, {1, 2}));
  Tensor y = ops::mul(x, x), z = ops::add(x, x);
  x.storage().note_write();
  std::string text = error_of<OpError>([&] { gradients({y}, {}, {x}); });
  EXPECT_TRUE(text.starts_with("the gradient of kw::mul (runtime/ops/elementwise.cpp:")) << text;
  EXPECT_TRUE(text.ends_with(") cannot be computed: the input 'x' was written after the call")) << text;
  EXPECT_EQ(values(gradients({z}, {}, {x})[0]), (Values{2, 2}));  // a sum reads nothing
}

TEST(Tape, PinsWhatGradientsNeed) {
  Interpreted interpreted;
  Tensor leaf = tensor({2}, {1, 2}), factor = tensor({2}, {3, 4}), term = tensor({2}, {5, 6});
  {
    GradModeGuard on(true);
    Tensor x = make_variable(leaf);
    EXPECT_EQ(x.data(), leaf.data());
    Tensor y = ops::mul(x, factor), z = ops::add(y, term);
    EXPECT_TRUE(leaf.storage().is_pinned() && factor.storage().is_pinned() && y.storage().is_pinned());
    EXPECT_FALSE(term.storage().is_pinned());  // a sum reads nothing
    // a long chain, which ends without recursion
    for (int i = 0; i < 100'000; ++i) z = ops::mul(z, factor);
  }
  EXPECT_FALSE(leaf.storage().is_pinned() || factor.storage().is_pinned());
}

TEST(Tape, CopiesWhatItSavesOfMemoryThatOthersMayWrite) {
  Interpreted interpreted;
  Tensor leaf = tensor({2}, {1, 2}), factor = tensor({2}, {3, 4});
  leaf.storage().add_view(), factor.storage().add_view();
  auto write = [](const Tensor &t) { static_cast<float *>(t.data())[0] = 100; };
  GradModeGuard on(true);
  Tensor x = make_variable(leaf);
  EXPECT_NE(x.data(), leaf.data());
  Tensor y = ops::mul(ops::mul(x, x), factor);
  write(leaf), write(factor);
  Tensor slope = gradients({y}, {}, {x})[0];
  EXPECT_EQ(values(slope), (Values{6, 16}));
  EXPECT_EQ(values(gradients({slope}, {}, {x})[0]), (Values{6, 8}));
  EXPECT_FALSE(leaf.storage().is_pinned() || factor.storage().is_pinned());
}

TEST(Tape, SavesWhatMemoryHeldBeforeTheKernelRan) {
  Interpreted interpreted;
  Tensor factor = tensor({2}, {3, 4});
  factor.storage().add_view();
  auto write = [&] { static_cast<float *>(factor.data())[0] = 100; };
  OpDef def{"t::mul", {{"x"}, {"w"}}, {{"y"}}};
  KernelDef k{"t::mul", BodyKind::py_func, [&](KernelContext &x) {
                EXPECT_TRUE(x.call.inputs[1].storage().is_pinned());  // other code gets no writable array
                x.outputs = {ops::mul(x.call.inputs[0], x.call.inputs[1])};
                write();
              }};
  GradDef grad{"t::mul", GradKind::graph, [](const GradCall &g) {
                 return std::vector{ops::mul(g.grads[0], g.call.inputs[1]), Tensor()};
               }};
  auto op = make_op(def, {k}, grad);
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({2}, {1, 1}));
  Tensor y = call_op(OpCall{op, {x, factor}})[0];
  EXPECT_FALSE(factor.storage().is_pinned());
  EXPECT_EQ(values(gradients({y}, {}, {x})[0]), (Values{3, 4}));
}

TEST(Tape, UnpinsWhatItCannotCopy) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers end the process instead of refusing memory";
#endif
  Interpreted interpreted;
  Tensor viewed =
      tensor({1}, {1}).broadcast(std::vector<int64_t>{int64_t{1} << 45});  // a copy has 2^47 bytes
  viewed.storage().add_view();
  KernelDef k{"t::first", BodyKind::py_func, [](KernelContext &x) { x.outputs = {x.call.inputs[0]}; }};
  GradDef grad{"t::first", GradKind::graph, [](const GradCall &g) { return g.grads; }};
  auto op = make_op({"t::first", {{"x"}, {"y"}}, {{"z"}}}, {k}, grad);
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({1}, {1}));
  EXPECT_THROW(call_op(OpCall{op, {x, viewed}}), std::bad_alloc);
  EXPECT_FALSE(viewed.storage().is_pinned());
}

/// x becomes 2 x in place.
std::shared_ptr<const Operator> doubled_in_place() {
  OpDef def{"t::twice", {{.name = "x", .is_mutable = true}, {"by"}}, {{"y"}}};
  KernelDef k{"t::twice", BodyKind::cpp_kernel, [](KernelContext &x) {
                x.outputs = {x.call.inputs[0]};
                x.call.inputs[0].storage().note_write();
              }};
  GradDef grad{"t::twice", GradKind::graph,
               [](const GradCall &g) { return std::vector{g.grads[0], g.grads[0]}; }};
  return make_op(def, {k}, grad);
}

TEST(Tape, TensorsWithoutHistoryOverMemoryThatARecordedCallWroteAreRefused) {
  Interpreted interpreted;
  Tensor base = tensor({2}, {1, 2}), view = base.view(base.data(), base.shape(), {});
  set_recording(true);
  Tensor x = make_variable(tensor({2}, {1, 1}));
  call_op(OpCall{doubled_in_place(), {view, x}});
  EXPECT_TRUE(view.history());
  EXPECT_EQ(error_of<OpError>([&] { ops::mul(base, base); }),
            "gradients cannot go through a tensor whose memory was written by way of another tensor, a view "
            "of it or what it is a view of");
  set_recording(std::nullopt);
  EXPECT_EQ(values(ops::mul(base, base)), (Values{1, 4}));
  set_recording(true);  // another gradient, for which the memory is a constant
  Tensor z = make_variable(tensor({2}, {1, 1}));
  EXPECT_EQ(values(gradients({ops::mul(base, z)}, {}, {z})[0]), (Values{1, 2}));
  set_recording(std::nullopt);
}

TEST(Tape, TellsWhichHistoriesAreOver) {
  Interpreted interpreted;
  set_recording(true);
  Tensor outer = make_variable(tensor({1}, {2}));
  uint64_t since = next_call_number();
  Tensor inner = ops::mul(outer, outer);
  EXPECT_FALSE(is_history_over(inner, since));  // recording
  set_recording(std::nullopt);
  EXPECT_TRUE(is_history_over(inner, since));
  EXPECT_FALSE(is_history_over(outer, since));  // made before
  EXPECT_FALSE(is_history_over(tensor({1}, {2}), since));
  bool elsewhere = true;
  std::thread([&] { elsewhere = is_history_over(inner, since); }).join();
  EXPECT_FALSE(elsewhere);
}

/// What a call on a tensor says in a thread that said nothing, or "".
std::string said_elsewhere(const Tensor &t) {
  std::string out;
  std::thread([&] {
    try {
      ops::exp(t);
    } catch (const OpError &e) {
      out = e.what();
    }
  }).join();
  return out;
}

TEST(Tape, RecordersOfOneThreadNest) {
  Interpreted interpreted;
  set_recording(true);
  Tensor x = make_variable(tensor({1}, {2})), inner;
  {
    GradModeGuard off(false);
    EXPECT_EQ(set_recording(true), std::optional(false));
    inner = make_variable(tensor({1}, {3}));
    EXPECT_NE(said_elsewhere(inner), "");
    set_recording(std::nullopt);
    EXPECT_EQ(said_elsewhere(inner), "");  // it ended, and the one around goes on
    EXPECT_NE(said_elsewhere(x), "");
    set_recording(true);  // never ended
    inner = make_variable(tensor({1}, {3}));
  }
  EXPECT_TRUE(is_recording());
  Tensor y = ops::mul(x, x);
  set_recording(std::nullopt);
  EXPECT_EQ(said_elsewhere(x), "");
  EXPECT_EQ(said_elsewhere(inner), "");  // the end of what is around ends it
  EXPECT_EQ(values(gradients({y}, {}, {x})[0]), Values{4});
}

TEST(Tape, ReleasesLongChains) {
  Interpreted interpreted;
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({1}, {1})), y = x;
  for (int i = 0; i < 20'000; ++i)
    y = call_op("kw::reshape", {y}, {{"shape", Attr(std::vector<Attr>{Attr(1)})}})[0];
  EXPECT_EQ(values(gradients({y}, {}, {x})[0]), (Values{1}));
}

}  // namespace
}  // namespace kw
