// A look-up of the emitter that fails names what is missing.
#include "codegen/llvm/values/entry_of.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "ir/build.h"

namespace kw {
namespace {

TEST(EntryOf, finds_what_is_there_and_names_what_is_not) {
  Sym n = make_sym(SymKind::extent, DType::i64, "n"), m = make_sym(SymKind::extent, DType::i64, "m");
  std::unordered_map<const SymNode *, int> values{{n.get(), 7}};
  EXPECT_EQ(entry_of(values, n.get()), 7);
  try {
    entry_of(values, m.get());
    FAIL() << "m has no value";
  } catch (const CompileError &e) {
    EXPECT_NE(std::string(e.what()).find("the emitter has no value for 'm'"), std::string::npos) << e.what();
  }
}

TEST(EntryOf, buffers_have_the_names_of_their_symbols) {
  Buf b = make_buf(make_sym(SymKind::buffer, DType::f32, "scratch"), {}, Space::stack);
  const std::unordered_map<const BufNode *, int> cells;
  EXPECT_THROW(entry_of(cells, b.get()), CompileError);
}

}  // namespace
}  // namespace kw
