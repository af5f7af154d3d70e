// Printing for isl, and its answer.
#include "tests/oracle/isl_text.h"

#include <isl/set.h>

#include <stdexcept>

#include "support/text.h"

namespace kw::oracle {

void IslSet::add(const std::string &condition) { conditions_ += cat(" and (", condition, ")"); }

void IslSet::add_domain(const StoreSite &site, const Access &access, const std::string &side) {
  for (const Item *loop : site.loop_items) {
    std::string i = cat("i", loop->number, side);
    variables_.push_back(i);
    bool up = loop->step > 0;
    add(cat(i, up ? " >= " : " <= ", loop->lo.isl_text(side)));
    add(cat(i, up ? " < " : " > ", loop->hi.isl_text(side)));
    if (loop->second) add(cat(i, " < ", loop->second->isl_text(side)));
    if (loop->step != 1 && loop->step != -1)
      add(cat("(", i, " - ", loop->lo.isl_text(side), ") mod ", up ? loop->step : -loop->step, " = 0"));
  }
  for (size_t k = 0; k < site.conditions.size(); ++k)
    add(cat(site.sides[k] ? "" : "not ", "(", site.conditions[k]->condition.isl_text(side), ")"));
  if (access.condition) add(access.condition->isl_text(side));
}

bool IslSet::empty(const IslContext &context) const {
  std::string names;
  for (const auto &v : variables_) names += names.empty() ? v : ", " + v;
  std::string text = cat("[n, m, p] -> { [", names, "] : n >= 1 and m >= 1", conditions_, " }");
  isl_set *set = isl_set_read_from_str(context.handle(), text.c_str());
  if (!set) throw std::runtime_error("isl refuses " + text);
  bool none = isl_set_is_empty(set) == isl_bool_true;
  isl_set_free(set);
  return none;
}

}  // namespace kw::oracle
