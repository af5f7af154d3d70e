// Directives have names, and the hints that claim something are directives.
#include "schedule/directives.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Directives, hints_that_claim_something_are_directives_of_the_same_name) {
  EXPECT_EQ(verb_name(claim_of(Hint::parallel).value()), "parallel");
  EXPECT_EQ(verb_name(claim_of(Hint::vectorize).value()), "vectorize");
  EXPECT_EQ(verb_name(claim_of(Hint::reduce).value()), "reduce");
}

TEST(Directives, other_hints_claim_nothing) {
  for (Hint hint : {Hint::none, Hint::serial, Hint::unroll}) EXPECT_FALSE(claim_of(hint).has_value());
}

}  // namespace
}  // namespace kw
