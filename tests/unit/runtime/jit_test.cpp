// From text to a loaded kernel through the cache, with the interpreter as back end.
#include "runtime/jit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "runtime/launch.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr uint64_t plenty = uint64_t{1} << 30;

/// c[i] = a[i] * factor + 1 over float64 vectors.
SourceText scale_source(int factor) {
  return {cat("def scale(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n     "
              "   c[i] = a[i] * ",
              factor, ".0 + 1.0\n    return c\n"),
          "k.py", 10};
}

Request request_for(const SourceText &source) {
  Request r;
  r.name = "scale";
  r.identity = hash_bytes(source.text).text();
  r.signature = unit::signature({unit::tensor(1, DType::f64)});
  r.target = unit::with_fma();
  r.backend = "interp";
  return r;
}

/// Runs a scale kernel over 1, 2, 3.
std::vector<double> result_of(const LoadedKernel &k) {
  std::vector<double> a = {1, 2, 3}, c(3);
  void *data[] = {a.data(), c.data()};
  int64_t dims[] = {3};
  EXPECT_EQ(run_here(k, {data, dims, nullptr, 0}, nullptr).status, 0);
  return c;
}

/// Errors as "E103 12:5", absolute lines.
template <class F>
std::string errors_of(F &&f, uint32_t first_line) {
  std::string out;
  try {
    f();
  } catch (const ResolvedError &error) {
    for (const Resolved &e : error.errors)
      out += cat(row_of(e.code).name, " ", static_cast<int64_t>(first_line) + e.line, ":", e.column, " ");
  }
  return out;
}

TEST(Jit, compiles_stores_and_finds) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source = scale_source(3);
  Request r = request_for(source);
  EXPECT_EQ(jit.find(r), nullptr);
  auto compiled = jit.compile(r, source);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(result_of(*compiled), (std::vector<double>{4, 7, 10}));
  auto found = jit.find(r);
  ASSERT_TRUE(found);
  EXPECT_EQ(result_of(*found), result_of(*compiled));
  EXPECT_EQ(found->artifact().key, key_text(r));
  EXPECT_TRUE(Jit(temp.path(), plenty).find(r));  // another process
}

TEST(Jit, another_request_is_a_miss) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source = scale_source(3);
  Request r = request_for(source);
  jit.compile(r, source);
  r.options.fp = FpMode::strict;
  EXPECT_EQ(jit.find(r), nullptr);
}

TEST(Jit, without_a_directory_it_still_compiles) {
  Jit jit("", plenty);
  SourceText source = scale_source(2);
  EXPECT_EQ(result_of(*jit.compile(request_for(source), source)), (std::vector<double>{3, 5, 7}));
  EXPECT_EQ(jit.find(request_for(source)), nullptr);
  EXPECT_NE(jit.cache_problem(), "");
}

/// The one file of the cache.
std::string the_entry(const unit::TempDir &temp) {
  std::string found;
  for (const auto &entry : std::filesystem::directory_iterator(temp.path())) found = entry.path();
  return found;
}

TEST(Jit, a_damaged_entry_is_a_miss_and_removed) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source = scale_source(3);
  Request r = request_for(source);
  for (int kind = 0; kind < 3; ++kind) {
    jit.compile(r, source);
    std::string path = the_entry(temp);
    ASSERT_NE(path, "");
    auto size = std::filesystem::file_size(path);
    if (kind == 0) std::filesystem::resize_file(path, size - 1);
    if (kind == 1) std::filesystem::resize_file(path, 0);
    if (kind == 2) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(size / 2));
      file.put('\x7F');
    }
    EXPECT_EQ(jit.find(r), nullptr) << kind;
    EXPECT_EQ(the_entry(temp), "") << kind;
  }
}

TEST(Jit, an_entry_of_another_request_under_this_name_is_a_miss) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText two = scale_source(2), three = scale_source(3);
  jit.compile(request_for(two), two);
  std::filesystem::rename(the_entry(temp), temp.path(key_of(request_for(three)).text() + ".kwa"));
  EXPECT_EQ(jit.find(request_for(three)), nullptr);
}

TEST(Jit, an_entry_whose_parameters_are_not_those_of_the_call_is_a_miss) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source = scale_source(3);
  Request r = request_for(source);
  using Forge = std::function<void(ParamRecord &)>;
  std::vector<Forge> forgeries = {[](ParamRecord &p) { p.arg = 5; }, [](ParamRecord &p) { p.arg = -1; },
                                  [](ParamRecord &p) { p.is_tensor = false; },
                                  [](ParamRecord &p) { p.rank = 8; },
                                  [](ParamRecord &p) { p.dtype = DType::i8; }};
  for (size_t i = 0; i < forgeries.size(); ++i) {
    Artifact a = compile_request(r, source);
    jit.cache().write(key_of(r), serialize(a));
    EXPECT_TRUE(jit.find(r)) << i;
    forgeries[i](a.params[0]);
    jit.cache().write(key_of(r), serialize(a));
    EXPECT_EQ(jit.find(r), nullptr) << i;
  }
}

TEST(Jit, says_how_much_stack_the_code_takes) {
  constexpr const char *text =
      "f.py: error[E122]: the code of 'f' takes 300000 bytes of stack, and a kernel has at most 262144\n"
      "      = help: split the kernel, so that fewer values are needed at a time\n";
  EXPECT_EQ(render(stack_error("f", 300000), "f.py", 1), text);
}

TEST(Jit, an_entry_whose_code_does_not_load_is_a_miss) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  Request r = request_for(scale_source(3));
  Artifact a;
  a.key = key_text(r);
  a.code = "no object";
  jit.cache().write(key_of(r), serialize(a));
  EXPECT_EQ(jit.find(r), nullptr);
}

TEST(Jit, cache_off_neither_reads_nor_writes) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source = scale_source(3);
  Request r = request_for(source);
  DebugOptions before = debug_options();
  DebugOptions off = before;
  off.cache = false;
  set_debug_options(off);
  EXPECT_TRUE(jit.compile(r, source));
  EXPECT_EQ(the_entry(temp), "");
  set_debug_options(before);
  jit.compile(r, source);
  set_debug_options(off);
  EXPECT_EQ(jit.find(r), nullptr);
  set_debug_options(before);
  EXPECT_TRUE(jit.find(r));
}

TEST(Jit, errors_have_relative_lines_and_nothing_is_stored) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source{"def scale(a):\n    x = nothing\n    y = other\n    return a\n", "k.py", 10};
  EXPECT_EQ(errors_of([&] { jit.compile(request_for(source), source); }, source.first_line),
            "E103 11:9 E103 12:9 ");
  EXPECT_EQ(the_entry(temp), "");
  source.text = "def scale(a):\n    a[a.shape[0]] = 1.0\n    return a\n";
  EXPECT_EQ(errors_of([&] { jit.compile(request_for(source), source); }, source.first_line), "E301 11:7 ");
}

TEST(Jit, warnings_come_from_the_cache_as_well) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  SourceText source{
      "def scale(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n        c[i] "
      "*= a[i]\n"
      "    return c\n",
      "k.py", 1};
  Request r = request_for(source);
  size_t fresh = jit.compile(r, source)->artifact().warnings.size();
  EXPECT_EQ(fresh, 1u);
  EXPECT_EQ(jit.find(r)->artifact().warnings.size(), fresh);
}

TEST(Jit, inspect_shows_the_stages) {
  SourceText source = scale_source(3);
  Request r = request_for(source);
  std::string lower = inspect(r, source, "lower"), final_text = inspect(r, source, "final");
  EXPECT_NE(lower.find("(a[i] * 3.0) + 1.0"), std::string::npos) << lower;
  EXPECT_NE(final_text.find("fma(a[i], 3.0, 1.0)"), std::string::npos) << final_text;
  EXPECT_EQ(inspect(r, source, "simplify").find("fma("), std::string::npos);
  EXPECT_NE(inspect(r, source, "fuse_fma").find("fma("), std::string::npos);
  EXPECT_THROW(inspect(r, source, "nonsense"), std::invalid_argument);
}

TEST(Jit, check_text_needs_no_types) {
  EXPECT_TRUE(check_text(scale_source(3), {}).empty());
  std::vector<Resolved> found = check_text({"def f(a):\n    x = nothing\n    return a\n", "k.py", 1}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::E103);
  EXPECT_EQ(found[0].line, 1);
}

TEST(Jit, a_kernel_given_as_ir_is_read_as_ir) {
  SourceText source{
      "# kw-ir 2\ndef scale(a: buf(f64, (n,)), c: out(f64, (n,))):\n  fp('default')\n  dims(n)\n"
      "  for i in serial(0, n, 1):\n    c[i] = a[i] + 5.0\n  return c\n",
      "k.ir", 1};
  Jit jit("", plenty);
  EXPECT_EQ(result_of(*jit.compile(request_for(source), source)), (std::vector<double>{6, 7, 8}));
}

TEST(Jit, a_sum_of_many_terms_compiles) {
  std::string sum = "a[i]";
  for (int k = 0; k < 400; ++k) sum += " + a[i]";
  SourceText source{cat("def scale(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in "
                        "range(a.shape[0]):\n        c[i] = ",
                        sum, "\n    return c\n"),
                    "k.py", 1};
  Jit jit("", plenty);
  std::string errors = errors_of(
      [&] {
        EXPECT_EQ(result_of(*jit.compile(request_for(source), source)),
                  (std::vector<double>{401, 802, 1203}));
      },
      1);
  EXPECT_EQ(errors, "");
}

TEST(JitThreads, same_and_different_kernels_on_one_cache_directory) {
  unit::TempDir temp;
  Jit shared(temp.path(), plenty);
  std::atomic<int> wrong = 0, hits = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Jit own(temp.path(), plenty);
      for (int round = 0; round < 12; ++round) {
        Jit &jit = round % 2 ? own : shared;
        int factor = round % 3 == 0 ? 100 + t : round % 5;  // of its own, and common ones
        SourceText source = scale_source(factor);
        Request r = request_for(source);
        auto kernel = jit.find(r);
        hits += kernel != nullptr;
        if (!kernel) kernel = jit.compile(r, source);
        wrong += !kernel ||
                 result_of(*kernel) != std::vector<double>{factor + 1.0, 2.0 * factor + 1, 3.0 * factor + 1};
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  EXPECT_EQ(shared.cache_problem(), "");
  EXPECT_EQ(shared.cache().list().size(), 8u + 5u);
}

TEST(JitThreads, errors_in_one_thread_do_not_disturb_others) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        SourceText source = scale_source(t);
        if (t % 2) source.text += "    x = 1\n";  // behind the return
        std::string errors = errors_of(
            [&] { wrong += result_of(*jit.compile(request_for(source), source))[0] != t + 1.0; }, 1);
        wrong += errors != (t % 2 ? "E108 6:5 " : "");
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(JitThreads, debug_options_change_while_kernels_compile) {
  unit::TempDir temp;
  Jit jit(temp.path(), plenty);
  DebugOptions before = debug_options();
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (int i = 0; !stop; ++i) {
      DebugOptions o = before;
      o.cache = i % 2;
      o.interp = i % 3 == 0;
      set_debug_options(o);
    }
  });
  int wrong = 0;
  for (int factor = 0; factor < 40; ++factor) {
    SourceText source = scale_source(factor);
    wrong += result_of(*jit.compile(request_for(source), source))[0] != factor + 1.0;
  }
  stop = true;
  changer.join();
  set_debug_options(before);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kw
