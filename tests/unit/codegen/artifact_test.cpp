// Artifacts: everything comes back, every damage is noticed, and no bytes crash the reader.
#include "codegen/artifact.h"

#include <gtest/gtest.h>

#include "codegen/bytes.h"
#include "support/hash.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// An artifact in which every field differs from its default.
Artifact sample() {
  Artifact a;
  a.key = "artifact 1\nname f\n";
  a.name = "f";
  a.params = {{"a", true, DType::i32, 3, ParamMode::inout, StrideClass::general, Fill::none, 0},
              {"p", false, DType::f64, 0, ParamMode::in, StrideClass::contiguous, Fill::none, 2},
              {"c", true, DType::f32, 8, ParamMode::out, StrideClass::inner_unit, Fill::zero, -1, 5}};
  a.results = {2, 0};
  a.tuple_of_one = true;
  a.program.code = std::string("\x01\x00\x02", 3);
  a.program.bounded = false;
  a.program.extent_places = {{4, 5, 9, "c = output_tensor(x)"}, {-1, 0, 0, ""}};
  a.sites = {{Code::E303,
              7,
              3,
              8,
              "  c[i] = a[i]",
              "a",
              1,
              true,
              true,
              {{{"a.shape[0]", {{0, 1}}, 0}, {"2 * b.shape[0] - 3", {{2, 2}}, -3}}},
              {"inlined"},
              1,
              {"before ", SiteMessage::Value::u64, " after", "note"},
              2},
             {Code::E304, -1, 0, 0, "", "c", 0, false, false, {}, {}, 0}};
  a.warnings = {{Code::W301, 2, 4, 6, "x = c[0]", "'c' may be read", {"note 1", "note 2"}, {"help"}, 3}};
  a.code_kind = CodeKind::ir;
  a.code = std::string("# kw-ir 2\n\0binary", 17);
  a.explain = "kernel f\n";
  a.from = "build";
  return a;
}

void expect_equal(const ParamRecord &a, const ParamRecord &b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.is_tensor, b.is_tensor);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.mode, b.mode);
  EXPECT_EQ(a.stride_class, b.stride_class);
  EXPECT_EQ(a.fill, b.fill);
  EXPECT_EQ(a.arg, b.arg);
  EXPECT_EQ(a.in_place, b.in_place);
}

void expect_equal(const SiteRecord &a, const SiteRecord &b) {
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.line, b.line);
  EXPECT_EQ(a.column, b.column);
  EXPECT_EQ(a.end_column, b.end_column);
  EXPECT_EQ(a.line_text, b.line_text);
  EXPECT_EQ(a.tensor, b.tensor);
  EXPECT_EQ(a.dim, b.dim);
  EXPECT_EQ(a.from_end, b.from_end);
  EXPECT_EQ(a.is_unsigned, b.is_unsigned);
  EXPECT_EQ(a.conditions, b.conditions);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.message, b.message);
  EXPECT_EQ(a.rank, b.rank);
}

void expect_equal(const EntryProgram &a, const EntryProgram &b) {
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.bounded, b.bounded);
  ASSERT_EQ(a.extent_places.size(), b.extent_places.size());
  for (size_t i = 0; i < a.extent_places.size(); ++i) {
    EXPECT_EQ(a.extent_places[i].line, b.extent_places[i].line);
    EXPECT_EQ(a.extent_places[i].column, b.extent_places[i].column);
    EXPECT_EQ(a.extent_places[i].end_column, b.extent_places[i].end_column);
    EXPECT_EQ(a.extent_places[i].line_text, b.extent_places[i].line_text);
  }
}

TEST(Artifact, every_field_comes_back) {
  Artifact a = sample();
  std::optional<Artifact> b = deserialize(serialize(a));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->key, a.key);
  EXPECT_EQ(b->name, a.name);
  EXPECT_EQ(b->results, a.results);
  EXPECT_EQ(b->tuple_of_one, a.tuple_of_one);
  EXPECT_EQ(b->code_kind, a.code_kind);
  EXPECT_EQ(b->code, a.code);
  EXPECT_EQ(b->explain, a.explain);
  EXPECT_EQ(b->from, a.from);
  ASSERT_EQ(b->params.size(), 3u);
  for (size_t i = 0; i < 3; ++i) expect_equal(a.params[i], b->params[i]);
  ASSERT_EQ(b->sites.size(), 2u);
  for (size_t i = 0; i < 2; ++i) expect_equal(a.sites[i], b->sites[i]);
  expect_equal(a.program, b->program);
  ASSERT_EQ(b->warnings.size(), 1u);
  EXPECT_EQ(render(b->warnings[0], "k.py", 1), render(a.warnings[0], "k.py", 1));
}

/// A new field of a record breaks its binding: write it, read it, and compare it above.
TEST(Artifact, no_field_is_forgotten) {
  auto [key, name, params, results, tuple_of_one, program, sites, warnings, code_kind, code, launches,
        explain, from] = sample();
  EXPECT_TRUE(launches.kernels.empty());
  auto [p_name, is_tensor, dtype, rank, mode, stride_class, fill, arg, in_place] = params[0];
  auto [s_code, line, column, end_column, line_text, tensor, dim, from_end, is_unsigned, conditions, notes_of,
        of, site_message, site_rank] = sites[0];
  auto [before, value, after, note] = site_message;
  EXPECT_EQ(cat(before, static_cast<int>(value), after, note, site_rank), "before 2 afternote2");
  auto [larger, smaller] = conditions.at(0);
  auto [sum_text, terms, constant] = smaller;
  auto [term_dim, factor] = terms.at(0);
  EXPECT_EQ(cat(larger.text, " ", sum_text, " ", constant, " ", term_dim, " ", factor),
            "a.shape[0] 2 * b.shape[0] - 3 -3 2 2");
  auto [d_code, d_line, d_column, d_end, d_text, message, notes, help, d_of] = warnings[0];
  auto [bytes, bounded, extent_places] = program;
  EXPECT_EQ(key.size() + name.size() + results.size() + code.size() + explain.size() + from.size(), 52u);
  EXPECT_TRUE(tuple_of_one && code_kind == CodeKind::ir && is_tensor && from_end && is_unsigned && !bounded &&
              bytes.size() == 3);
  EXPECT_EQ(cat(p_name, short_name(dtype), rank, static_cast<int>(mode), static_cast<int>(stride_class),
                static_cast<int>(fill), arg, in_place),
            "ai323220"
            "00");
  EXPECT_EQ(cat(static_cast<int>(s_code == Code::E303), line, column, end_column, line_text, tensor, dim),
            "1738  c[i] = a[i]a1");
  EXPECT_EQ(cat(static_cast<int>(d_code == Code::W301), d_line, d_column, d_end, d_text, message,
                notes.size(), help.size(), extent_places.size(), d_of, notes_of.size(), of),
            "1246x = c[0]'c' may be read212311");
}

/// An artifact for GPUs: two kernels with all kinds of parameters.
Artifact for_gpu() {
  Artifact a = sample();
  a.code_kind = CodeKind::cuda;
  a.code = "one two";
  a.launches.code = "stack code";
  a.launches.shared_bytes = 1;
  a.launches.reads_device = a.launches.has_loops = true;
  a.launches.arch = "sm_90";
  using enum CudaParam::Kind;
  std::vector<CudaParam> params;
  for (auto kind : {data, dim, scalar, iterator, slot, temporary, call}) params.push_back({kind, 300});
  a.launches.kernels = {{"f_0", 1, 3, 256, 2, 0, params, 4160, {{0, 5}, {1, 0}}, "n < 64", "y"},
                        {"f_1", 4, 7, 1, 0, 2, {}, 0, {}, {}, {}}};
  return a;
}

TEST(Artifact, launches_come_back) {
  Artifact a = for_gpu();
  std::optional<Artifact> b = deserialize(serialize(a));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->code_kind, CodeKind::cuda);
  EXPECT_EQ(b->code, a.code);
  EXPECT_EQ(b->launches, a.launches);
  auto [code, kernels, shared_bytes, reads_device, has_loops, arch] = a.launches;
  auto [name, begin, end, threads, temporaries, side, params, block_bytes, loops, condition, stores] =
      kernels[0];
  EXPECT_EQ(cat(code, name, begin, end, threads, temporaries, params.size(), shared_bytes, reads_device,
                has_loops, arch, block_bytes, loops.size(), loops[0].line, condition, stores),
            "stack codef_013256271TrueTruesm_90416025n < 64y");
}

TEST(Artifact, machine_code_of_a_gpu_comes_back) {
  Artifact a = sample();
  a.code_kind = CodeKind::cubin;
  std::optional<Artifact> b = deserialize(serialize(a));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->code_kind, CodeKind::cubin);
  EXPECT_EQ(b->code, a.code);
}

TEST(Artifact, launches_are_checked_when_they_are_read) {
  auto reads = [](auto &&change) {
    Artifact a = for_gpu();
    change(a.launches.kernels[0]);
    return deserialize(serialize(a)).has_value();
  };
  EXPECT_TRUE(reads([](LaunchKernel &) {}));
  EXPECT_FALSE(reads([](LaunchKernel &k) { k.begin = k.end + 1; }));
  EXPECT_FALSE(reads([](LaunchKernel &k) { k.end = 8; }));
  EXPECT_FALSE(reads([](LaunchKernel &k) { k.begin = 0; }));
  EXPECT_FALSE(reads([](LaunchKernel &k) { k.threads = 0; }));
  EXPECT_FALSE(reads([](LaunchKernel &k) { k.threads = 1025; }));
  EXPECT_FALSE(reads([](LaunchKernel &k) { k.params[0].kind = static_cast<CudaParam::Kind>(7); }));
}

TEST(Artifact, an_empty_one_comes_back_too) {
  std::optional<Artifact> b = deserialize(serialize({}));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->code_kind, CodeKind::elf);
  EXPECT_TRUE(b->params.empty() && b->sites.empty() && b->warnings.empty() && b->key.empty());
}

TEST(Artifact, equal_artifacts_have_equal_bytes) { EXPECT_EQ(serialize(sample()), serialize(sample())); }

TEST(Artifact, every_truncation_is_refused) {
  std::string bytes = serialize(sample());
  for (size_t n = 0; n < bytes.size(); ++n)
    ASSERT_FALSE(deserialize(std::string_view(bytes).substr(0, n))) << n;
  EXPECT_FALSE(deserialize(bytes + '\0'));
}

TEST(Artifact, every_changed_bit_is_refused) {
  std::string bytes = serialize(sample());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(deserialize(damaged)) << bit;
  }
}

constexpr size_t header_size = 32;  // magic, version, size, checksum; the section count follows

/// With the size and checksum of the header made right again, so that the sections are read.
std::string repaired(std::string_view body) {
  ByteWriter w;
  Hash128 checksum = hash_bytes(body);
  for (char c : std::string_view("KWA1")) w.u8(static_cast<uint8_t>(c));
  w.u32(artifact_version);
  w.u64(header_size + body.size());
  w.u64(checksum.low);
  w.u64(checksum.high);
  return w.take() + std::string(body);
}

TEST(Artifact, the_repair_of_these_tests_is_right) {
  std::string bytes = serialize(sample());
  EXPECT_EQ(repaired(std::string_view(bytes).substr(header_size)), bytes);
}

TEST(Artifact, damage_behind_a_right_checksum_never_crashes) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::string body = serialize(sample()).substr(header_size);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = body;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      size_t at = random() % damaged.size();
      damaged[at] = static_cast<char>(random() % 2 ? damaged[at] ^ (1 << random() % 8) : random());
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    std::optional<Artifact> a = deserialize(repaired(damaged));
    if (!a) continue;
    for (uint32_t r : a->results) ASSERT_LT(r, a->params.size());
    for (const ParamRecord &p : a->params) {
      ASSERT_LT(static_cast<int>(p.dtype), dtype_count);
      ASSERT_LE(p.rank, max_rank);
      ASSERT_TRUE(p.arg >= -1 && p.arg < static_cast<int32_t>(max_args));
    }
    for (const SiteRecord &s : a->sites) ASSERT_FALSE(row_of(s.code).name.empty());
  }
}

TEST(Artifact, impossible_counts_do_not_allocate) {
  ByteWriter w;
  w.u32(1);
  w.u32(4);  // sites
  ByteWriter section;
  section.u32(0xFFFFFFFF);
  w.text(section.take());
  EXPECT_FALSE(deserialize(repaired(w.take())));
}

/// What another writer may put into an entry behind a right checksum; the reader draws lines and messages of
/// it.
TEST(Artifact, what_no_message_can_hold_is_refused) {
  std::vector<std::function<void(Artifact &)>> forgeries = {
      [](Artifact &a) { a.sites[0].code = Code::W301; },
      [](Artifact &a) { a.warnings[0].code = Code::E301; },
      [](Artifact &a) { a.sites[0].column = 0; },
      [](Artifact &a) { a.sites[0].column = 1000; },
      [](Artifact &a) { a.sites[0].end_column = UINT32_MAX; },
      [](Artifact &a) { a.sites[0].line = -2; },
      [](Artifact &a) { a.sites[0].tensor.assign(4097, 'a'); },
      [](Artifact &a) { a.sites[0].notes.resize(1025); },
      [](Artifact &a) { a.sites[0].message.before.assign((64 << 10) + 1, 'a'); },
      [](Artifact &a) { a.sites[0].conditions[0].larger.text.assign((64 << 10) + 1, 'a'); },
      [](Artifact &a) { a.warnings[0].column = UINT32_MAX; },
      [](Artifact &a) { a.warnings[0].message.assign((64 << 10) + 1, 'a'); },
      [](Artifact &a) { a.warnings.resize(1025); },
      [](Artifact &a) { a.program.extent_places[0].column = UINT32_MAX; },
      [](Artifact &a) { a.program.extent_places.resize(max_outputs * max_rank + 1); },
      [](Artifact &a) { a.name.assign(4097, 'a'); },
      [](Artifact &a) { a.params.resize(max_args + max_outputs + 1); }};
  for (size_t i = 0; i < forgeries.size(); ++i) {
    Artifact a = sample();
    forgeries[i](a);
    EXPECT_FALSE(deserialize(serialize(a))) << i;
  }
}

TEST(Artifact, unknown_sections_are_refused) {
  ByteWriter w;
  w.u32(1);
  w.u32(99);
  w.text("x");
  EXPECT_FALSE(deserialize(repaired(w.take())));
}

TEST(Bytes, are_little_endian_and_length_checked) {
  ByteWriter w;
  w.u8(1);
  w.u32(0x04030201);
  w.u64(0x0807060504030201);
  w.text("ab");
  std::string bytes = w.take();
  EXPECT_EQ(bytes.substr(0, 5), "\x01\x01\x02\x03\x04");
  ByteReader r(bytes);
  EXPECT_EQ(r.u8(), 1);
  EXPECT_EQ(r.u32(), 0x04030201u);
  EXPECT_EQ(r.u64(), 0x0807060504030201u);
  EXPECT_EQ(r.text(), "ab");
  EXPECT_TRUE(r.ok() && r.at_end());
  EXPECT_EQ(r.u8(), 0);
  EXPECT_FALSE(r.ok());
}

TEST(Bytes, after_a_failure_everything_is_empty) {
  ByteReader r(
      std::string_view("\xFF\xFF\xFF\xFF"
                       "abc",
                       7));
  EXPECT_EQ(r.text(), "");
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.u8(), 0);
  EXPECT_EQ(r.count(1), 0u);
}

}  // namespace
}  // namespace kw
