// Libraries that register operators, opened and closed; and built-in operators in machine code, without
// Python.
#include "runtime/aot/library.h"

#include "runtime/calls/call.h"
#include "runtime/calls/tape.h"
#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

TEST(Library, RegistersWhatItDeclares) {
  {
    auto library = Library::open(KW_PLUGIN);
    EXPECT_EQ(reinterpret_cast<int (*)()>(library->need("plugin_number"))(), 7);
    EXPECT_EQ(library->find("nothing"), nullptr);
  }
  // the operator holds the library
  EXPECT_EQ(values(call_op("plugin::twice", {tensor({3}, {1, 2, 3})})[0]), (Values{2, 4, 6}));
  EXPECT_TRUE(registry().remove("plugin::twice"));
  EXPECT_EQ(error_of<OpError>([] { registry().need("plugin::twice"); }),
            "there is no operator 'plugin::twice'");
}

TEST(Library, RegistersNothingWhenARowIsWrong) {
  std::string text = error_of<OpError>([] { Library::open(KW_FAULTY_PLUGIN); });
  EXPECT_EQ(text,
            "nothing was registered, because of 2 faults:\n"
            "  operator 'plugin': a name is written namespace::name\n"
            "  kernel CppKernel: there is no operator 'plugin::missing'");
  EXPECT_TRUE(take_pending().empty());
}

TEST(Library, SaysWhatTheLoaderSays) {
  EXPECT_TRUE(error_of<OpError>([] { Library::open("none.so"); }).starts_with("./none.so: cannot open"));
}

TEST(BuiltIn, OperatorsRunAsMachineCode) {
  GradModeGuard on(true);
  Tensor x = make_variable(tensor({2, 2}, {1, 2, 3, 4}));
  Tensor y = ops::matmul(x, x);
  EXPECT_EQ(values(y), (Values{7, 10, 15, 22}));
  EXPECT_EQ(values(gradients({y}, {}, {x})[0]), (Values{7, 11, 9, 13}));
}

}  // namespace
}  // namespace kw
