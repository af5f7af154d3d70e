// Request keys: every field of every part changes them, and nothing else does.
#include "runtime/request.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "support/build_id.h"
#include "support/text.h"

namespace kw {
namespace {

Captured integer(int64_t v) {
  Captured c;
  c.kind = Captured::Kind::integer;
  c.integer = v;
  return c;
}

Request sample() {
  Request r;
  r.name = "f";
  r.identity = "code";
  Captured module;
  module.kind = Captured::Kind::module;
  module.text = "numpy";
  module.attributes = {{"pi", integer(3)}};
  Captured tuple;
  tuple.kind = Captured::Kind::tuple;
  tuple.items = {integer(1), integer(2)};
  r.captures = {{"K", integer(7)}, {"np", module}, {"T", tuple}};
  r.signature.args = {{ArgKind::tensor, DType::f32, 2, StrideClass::contiguous, 0},
                      {ArgKind::tensor, DType::f32, 1, StrideClass::contiguous, 1},
                      {ArgKind::weak_scalar, DType::i64, 0, StrideClass::contiguous, 2}};
  r.signature.outs = {StrideClass::contiguous};
  r.target = {"x86_64-unknown-linux-gnu", {"avx", "fma"}};
  return r;
}

using Change = std::pair<std::string_view, std::function<void(Request &)>>;

/// All keys differ from the sample's and from one another.
void expect_distinct(const std::vector<Change> &changes) {
  std::map<std::string, std::string_view> seen = {{key_of(sample()).text(), "the sample"}};
  for (const auto &[what, change] : changes) {
    Request r = sample();
    change(r);
    auto [at, is_new] = seen.try_emplace(key_of(r).text(), what);
    EXPECT_TRUE(is_new) << what << " has the key of " << at->second;
  }
}

TEST(RequestKey, equal_requests_have_equal_keys) {
  EXPECT_EQ(key_text(sample()), key_text(sample()));
  EXPECT_EQ(key_of(sample()), hash_bytes(key_text(sample())));
  EXPECT_NE(key_text(sample()).find(build_id()), std::string::npos);
}

/// A new field breaks its binding: put it into the key and into the changes below.
TEST(RequestKey, no_field_is_forgotten) {
  auto [name, identity, captures, signature, options, target, backend, derive, places] = sample();
  auto [args, outs, out_aliases] = signature;
  auto [kind, dtype, rank, stride_class, alias] = args[0];
  auto [mode, wrt, seeds, ones, checkpoint] = Derivation{};
  auto [c_kind, c_integer, exceeds, real, text, c_dtype, items, attributes] = captures[0].second;
  EXPECT_EQ(cat(name, identity, backend, short_name(dtype), rank, alias, text), "fcodellvmf3220");
  EXPECT_TRUE(kind == ArgKind::tensor && stride_class == StrideClass::contiguous && outs.size() == 1 &&
              out_aliases.empty());
  EXPECT_TRUE(places.empty() && derive.empty() && mode == Derivation::Mode::vjp && wrt.empty() &&
              seeds.empty() && ones.empty() && checkpoint.empty());
  EXPECT_TRUE(c_kind == Captured::Kind::integer && c_integer == 7 && real == 0 && c_dtype == DType::f64);
  EXPECT_TRUE(!exceeds && items.empty() && attributes.empty() && options.fp == FpMode::normal &&
              target.log2_work_per_thread() == 19);
}

TEST(RequestKey, name_identity_backend_options_and_target) {
  expect_distinct({
      {"name", [](Request &r) { r.name = "g"; }},
      {"identity", [](Request &r) { r.identity = "code2"; }},
      {"backend", [](Request &r) { r.backend = "interp"; }},
      {"fp strict", [](Request &r) { r.options.fp = FpMode::strict; }},
      {"fp fast", [](Request &r) { r.options.fp = FpMode::fast; }},
      {"body", [](Request &r) { r.options.body = Body::plain; }},
      {"debug", [](Request &r) { r.options.debug = true; }},
      {"unchecked", [](Request &r) { r.options.unchecked = true; }},
      {"triple", [](Request &r) { r.target.triple = "aarch64-unknown-linux-gnu"; }},
      {"more features", [](Request &r) { r.target.features.push_back("sse2"); }},
      {"fewer features", [](Request &r) { r.target.features.pop_back(); }},
      {"work per thread", [](Request &r) { r.target.grain = 3; }},
  });
}

TEST(RequestKey, places_count_with_line_tables_alone) {
  Request here = sample(), there = sample();
  here.places = {{"a.py", 3}}, there.places = {{"b.py", 4}};
  EXPECT_EQ(key_text(here), key_text(there));
  here.options.debug_info = there.options.debug_info = true;
  EXPECT_NE(key_text(here), key_text(there));
  there.places[0].path = "a.py";
  EXPECT_NE(key_text(here), key_text(there));
}

TEST(RequestKey, code_is_named_after_kernel_and_line) {
  Request r = sample();
  EXPECT_EQ(code_name(r), "kw_f");
  r.places = {{"a.py", 12}, {"b.py", 1}};
  EXPECT_EQ(code_name(r), "kw_f_12");
}

TEST(RequestKey, signature) {
  expect_distinct({
      {"kind", [](Request &r) { r.signature.args[2].kind = ArgKind::strong_scalar; }},
      {"unused", [](Request &r) { r.signature.args[2].kind = ArgKind::unused; }},
      {"dtype", [](Request &r) { r.signature.args[0].dtype = DType::f64; }},
      {"dtype of the second", [](Request &r) { r.signature.args[1].dtype = DType::f64; }},
      {"rank", [](Request &r) { r.signature.args[0].rank = 3; }},
      {"stride class", [](Request &r) { r.signature.args[0].stride_class = StrideClass::inner_unit; }},
      {"general", [](Request &r) { r.signature.args[0].stride_class = StrideClass::general; }},
      {"alias", [](Request &r) { r.signature.args[1].alias = 0; }},
      {"fewer arguments", [](Request &r) { r.signature.args.pop_back(); }},
      {"more arguments",
       [](Request &r) {
         r.signature.args.push_back({ArgKind::tensor, DType::f32, 1, StrideClass::contiguous, 3});
       }},
      {"outs", [](Request &r) { r.signature.outs = {StrideClass::general}; }},
      {"no outs", [](Request &r) { r.signature.outs.clear(); }},
      {"an aliased out", [](Request &r) { r.signature.out_aliases = {0}; }},
      {"another aliased out", [](Request &r) { r.signature.out_aliases = {UINT8_MAX, 0}; }},
      {"two outs", [](Request &r) { r.signature.outs.push_back(StrideClass::contiguous); }},
  });
}

TEST(RequestKey, captures) {
  auto value = [](Captured::Kind kind, auto set) {
    return [=](Request &r) {
      Captured c;
      c.kind = kind;
      set(c);
      r.captures[0].second = c;
    };
  };
  using Kind = Captured::Kind;
  expect_distinct({
      {"name", [](Request &r) { r.captures[0].first = "L"; }},
      {"one less", [](Request &r) { r.captures.pop_back(); }},
      {"integer", value(Kind::integer, [](Captured &c) { c.integer = 8; })},
      {"big integer", value(Kind::integer, [](Captured &) {})},
      {"bool", value(Kind::boolean, [](Captured &c) { c.integer = 7; })},
      {"real", value(Kind::real, [](Captured &c) { c.real = 7; })},
      {"zero", value(Kind::real, [](Captured &c) { c.real = 0.0; })},
      {"minus zero", value(Kind::real, [](Captured &c) { c.real = -0.0; })},
      {"nan", value(Kind::real, [](Captured &c) { c.real = std::numeric_limits<double>::quiet_NaN(); })},
      {"text", value(Kind::text, [](Captured &c) { c.text = "7"; })},
      {"other text", value(Kind::text, [](Captured &c) { c.text = "8"; })},
      {"word", value(Kind::word, [](Captured &c) { c.text = "7"; })},
      {"dtype", value(Kind::dtype, [](Captured &c) { c.dtype = DType::f32; })},
      {"other dtype", value(Kind::dtype, [](Captured &c) { c.dtype = DType::i32; })},
      {"other", value(Kind::other, [](Captured &c) { c.text = "7"; })},
      {"attribute value", [](Request &r) { r.captures[1].second.attributes[0].second = integer(4); }},
      {"attribute name", [](Request &r) { r.captures[1].second.attributes[0].first = "e"; }},
      {"no attribute", [](Request &r) { r.captures[1].second.attributes.clear(); }},
      {"module", [](Request &r) { r.captures[1].second.text = "math"; }},
      {"item", [](Request &r) { r.captures[2].second.items[1] = integer(3); }},
      {"order of items",
       [](Request &r) { std::swap(r.captures[2].second.items[0], r.captures[2].second.items[1]); }},
      {"one item", [](Request &r) { r.captures[2].second.items.pop_back(); }},
      {"nested item",
       [](Request &r) {
         Captured inner = r.captures[2].second;
         r.captures[2].second.items = {inner};
       }},
  });
}

TEST(RequestKey, each_derivation_is_a_line) {
  Request r = sample();
  r.derive = {{Derivation::Mode::vjp, {0, 2}, {0}, {}, {"t"}}, {Derivation::Mode::jvp, {1}, {}, {0}, {}}};
  EXPECT_NE(key_text(r).find("\nderive vjp wrt=0,2 seeds=0 ones= checkpoint=t\n"
                             "derive jvp wrt=1 seeds= ones=0 checkpoint=\n"),
            std::string::npos);
  auto derived = [](std::vector<Derivation> chain) {
    return [chain = std::move(chain)](Request &request) { request.derive = chain; };
  };
  expect_distinct({{"a derivative", derived({{.wrt = {0}}})},
                   {"one in forward mode", derived({{.mode = Derivation::Mode::jvp, .wrt = {0}}})},
                   {"one by another argument", derived({{.wrt = {1}}})},
                   {"one by both", derived({{.wrt = {0, 1}}})},
                   {"a seed", derived({{.wrt = {0}, .seeds = {0}}})},
                   {"a seed of 1", derived({{.wrt = {0}, .ones = {0}}})},
                   {"a checkpoint", derived({{.wrt = {0}, .checkpoint = {"t"}}})},
                   {"a second derivative", derived({{.wrt = {0}}, {.wrt = {0}}})}});
}

/// Texts that hold the marks of the preimage itself cannot imitate other captures.
TEST(RequestKey, captured_texts_do_not_run_into_each_other) {
  auto text = [](std::string value) {
    Captured c;
    c.kind = Captured::Kind::text;
    c.text = std::move(value);
    return c;
  };
  Request one, two;
  one.captures = {{"a", text("x();\ncaptured b 3:-:0x0:12:1:y")}};
  two.captures = {{"a", text("x")}, {"b", text("y")}};
  EXPECT_NE(key_text(one), key_text(two));
  Captured left, right;
  left.kind = right.kind = Captured::Kind::tuple;
  left.items = {text("ab"), text("c")};
  right.items = {text("a"), text("bc")};
  one.captures = {{"a", left}};
  two.captures = {{"a", right}};
  EXPECT_NE(key_text(one), key_text(two));
}

}  // namespace
}  // namespace kw
