// Executions and engine answers as sets of claims.
#include "tests/oracle/claims.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "support/text.h"

namespace kw::oracle {

int count_of_programs(int usual) {
  const char *text = std::getenv("KW_ORACLE");
  return text ? std::atoi(text) : usual;
}

void record(const std::string &line) {
  std::printf("%s\n", line.c_str());
  const char *path = std::getenv("KW_ORACLE_RESULTS");
  std::FILE *file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

void add_shown(const std::vector<Touch> &touches, int root, std::set<Claim> &out) {
  std::map<std::vector<int64_t>, std::vector<const Touch *>> by_place;
  for (const Touch &t : touches) by_place[t.place].push_back(&t);
  for (const auto &[place, list] : by_place)
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = i + 1; j < list.size(); ++j) {
        const Touch &x = *list[i], &y = *list[j];
        if (!x.what->is_write && !y.what->is_write) continue;
        size_t level = 0, at_root = SIZE_MAX;
        while (level < x.loops.size() && level < y.loops.size() && x.loops[level] == y.loops[level]) {
          if (x.loops[level] == root) at_root = level;
          if (x.iteration[level] != y.iteration[level]) break;
          ++level;
        }
        if (at_root != SIZE_MAX)
          out.insert({x.store, x.access, y.store, y.access, static_cast<int>(level - at_root)});
      }
}

Numbers::Numbers(const Nest &nest, int first_store) {
  for (const NestStatement &s : nest.statements) {
    stores.push_back(s.accesses.back().is_write ? first_store++ : -1);
    accesses.emplace_back();
    int number = 0;
    for (const NestAccess &a : s.accesses)
      accesses.back().push_back(a.buf->sym->name == "idx" ? -1 : number++);
  }
}

Claim Numbers::claim(const Dependence &d) const {
  return {stores[d.source], accesses[d.source][d.from], stores[d.sink], accesses[d.sink][d.to],
          static_cast<int>(d.level)};
}

int first_store_of(const Program &program, int root) {
  for (const StoreSite &s : stores_of(program))
    for (int loop : s.loops)
      if (loop == root) return s.item->number;
  return 0;
}

}  // namespace kw::oracle
