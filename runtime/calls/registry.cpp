// Checks of registrations, and the tables of operators.
#include "runtime/calls/registry.h"

#include <algorithm>
#include <set>

#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

/// Collects the errors in the rows of one registration.
class Faults {
 public:
  void add(std::string fault) { faults_.push_back(std::move(fault)); }
  void throw_if_any() const {
    if (faults_.empty()) return;
    throw_value_error(cat("nothing was registered, because of ", counted(faults_.size(), "fault"), ":\n  ",
                          join_text(faults_, "\n  ")));
  }

 private:
  std::vector<std::string> faults_;
};

/// Returns the place of a definition in parentheses, for the end of a phrase.
std::string from(const std::string &source) { return source.empty() ? "" : cat(" (", source, ")"); }

/// Returns whether `s` is an identifier of letters, digits and underscores.
bool is_name(std::string_view s) {
  auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !s.empty() && std::all_of(s.begin(), s.end(), plain) &&
         !std::isdigit(static_cast<unsigned char>(s[0]));
}

/// Adds faults for malformed or duplicate names, and for defaults of another type than their attribute.
void check_names(const OpDef &op, Faults &faults) {
  size_t colons = op.name.find("::");
  if (colons == std::string::npos || !is_name(std::string_view(op.name).substr(0, colons)) ||
      !is_name(std::string_view(op.name).substr(colons + 2)))
    faults.add(cat("operator '", op.name, "'", from(op.source), ": a name is written namespace::name"));
  std::set<std::string> seen;
  auto note = [&](const std::string &name) {
    if (!seen.insert(name).second)
      faults.add(cat("operator '", op.name, "'", from(op.source), ": '", name, "' is declared twice"));
  };
  for (const OpInput &i : op.inputs) note(i.name);
  for (const OpAttr &a : op.attrs) note(a.name);
  seen.clear();  // an output may have the name of an input
  for (const OpOutput &o : op.outputs) note(o.name);
  auto note_range = [&](std::string_view what, const std::string &name, uint32_t min, uint32_t max) {
    if (min > max || max == 0)
      faults.add(cat("operator '", op.name, "'", from(op.source), ": ", what, " '", name, "' is declared as ",
                     min, " to ", max, " tensors"));
  };
  for (const OpInput &i : op.inputs) note_range("input", i.name, i.min, i.max);
  for (const OpOutput &o : op.outputs) note_range("output", o.name, o.min, o.max);
  for (const OpAttr &a : op.attrs) {
    Attr fallback = a.fallback.value_or(Attr());
    if (a.fallback && !fallback.is_none() && !convert_attr(fallback, a.type))
      faults.add(cat("operator '", op.name, "'", from(op.source), ": the default of attribute '", a.name,
                     "' is ", attr_text(*a.fallback), ", but its type is ", attr_type_name(a.type)));
    const Attr *misfit = a.word ? find_misfit(fallback, *a.word) : nullptr;
    if (misfit)
      faults.add(cat("operator '", op.name, "'", from(op.source), ": the default ", attr_text(*misfit),
                     " of attribute '", a.name, "' does not fit into ", numpy_name(*a.word)));
  }
}

bool are_single(std::span<const OpInput> inputs) {
  return std::none_of(inputs.begin(), inputs.end(), [](const OpInput &i) { return i.is_list(); });
}
bool are_single(std::span<const OpOutput> outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [](const OpOutput &o) { return o.is_one(); });
}

/// Prepares a kernel for its operator. Adds faults where it does not fit: its dtype rows, and its outputs
/// that are inputs in place.
void check_kernel(const OpDef &op, KernelDef &k, Faults &faults) {
  if (k.make_state) k.state = std::make_shared<KeptState>();
  std::string what = cat("kernel ", body_name(k.kind), " of '", op.name, "'", from(k.source), ": ");
  if (!k.run) faults.add(what + "it has no code");
  bool is_dynamic = !are_single(std::span(op.inputs)) || !are_single(std::span(op.outputs));
  size_t count = op.inputs.size() + op.outputs.size();
  for (const DTypeRow &row : k.rows)
    if (!is_dynamic && row.size() != count)
      faults.add(cat(what, "a row of ", counted(row.size(), "dtype"), " for ",
                     counted(op.inputs.size(), "input"), " and ", counted(op.outputs.size(), "output")));
  for (auto [output, input] : k.in_place) {
    if (output >= op.outputs.size() || input >= op.inputs.size())
      faults.add(cat(what, "output ", output, " cannot be input ", input, ": there are ",
                     counted(op.inputs.size(), "input"), " and ", counted(op.outputs.size(), "output")));
    else if (!op.inputs[input].is_mutable)
      faults.add(cat(what, "it writes input '", op.inputs[input].name, "', which is not declared mutable"));
    // then the numbers of the declaration are the places in a call
    else if (!are_single(std::span(op.inputs).first(input + 1)) ||
             !are_single(std::span(op.outputs).first(output + 1)) || op.inputs[input].is_optional())
      faults.add(cat(what, "output ", output, " cannot be input ", input,
                     ": both must be one tensor, and no list may precede them"));
  }
}

/// Adds a fault for a gradient whose kind and code contradict each other.
void check_grad(const GradDef &g, Faults &faults) {
  if ((g.kind == GradKind::none) != !g.run)
    faults.add(cat("gradient of '", g.op, "'", from(g.source), ": ",
                   g.run ? "it has code, but is declared as none" : "it has no code"));
}

}  // namespace

std::string_view body_name(BodyKind k) {
  constexpr std::string_view names[] = {"CppKernel", "AotSymbol", "JitLoop", "PyFunc"};
  return names[static_cast<size_t>(k)];
}

std::string_view grad_name(GradKind k) {
  constexpr std::string_view names[] = {"graph", "function", "py_bprop", "none"};
  return names[static_cast<size_t>(k)];
}

void Registry::commit(Registration rows) {
  // destroying replaced operators may run user code, which may call the registry: they are destroyed after
  // the lock
  std::vector<std::shared_ptr<const Operator>> replaced;
  std::map<std::string, Operator, std::less<>> changed;
  std::scoped_lock lock(mutex_);
  Faults faults;
  for (OpDef &op : rows.ops) {
    check_names(op, faults);
    auto known = ops_.find(op.name);
    const std::string *earlier = known == ops_.end() ? nullptr : &known->second->def.source;
    if (auto twin = changed.find(op.name); twin != changed.end()) earlier = &twin->second.def.source;
    if (earlier)
      faults.add(cat("operator '", op.name, "'", from(op.source), " is registered already", from(*earlier)));
    std::string name = op.name;
    changed.try_emplace(std::move(name), Operator{std::move(op), {}, {}});
  }
  // Operators are immutable: the first row for a known operator copies it into `changed`. The table stays
  // unchanged until all rows are checked.
  auto find_op = [&](const std::string &name) -> Operator * {
    if (auto found = changed.find(name); found != changed.end()) return &found->second;
    auto known = ops_.find(name);
    return known == ops_.end() ? nullptr : &changed.emplace(name, *known->second).first->second;
  };
  for (KernelDef &k : rows.kernels) {
    Operator *op = find_op(k.op);
    if (!op) {
      faults.add(cat("kernel ", body_name(k.kind), from(k.source), ": there is no operator '", k.op, "'"));
      continue;
    }
    check_kernel(op->def, k, faults);
    op->kernels.push_back(std::move(k));
  }
  for (GradDef &g : rows.grads) {
    Operator *op = find_op(g.op);
    check_grad(g, faults);
    if (!op)
      faults.add(cat("gradient", from(g.source), ": there is no operator '", g.op, "'"));
    else if (op->grad)
      faults.add(
          cat("gradient of '", g.op, "'", from(g.source), ": it has one already", from(op->grad->source)));
    else
      op->grad = std::move(g);
  }
  // all rows were checked, so one error lists every fault; the table changes only after this
  faults.throw_if_any();
  for (auto &[name, op] : changed)
    replaced.push_back(std::exchange(ops_[name], std::make_shared<const Operator>(std::move(op))));
}

bool Registry::remove(std::string_view name) {
  std::shared_ptr<const Operator> removed;  // destroyed after the lock, as in commit
  std::scoped_lock lock(mutex_);
  auto found = ops_.find(name);
  if (found == ops_.end()) return false;
  removed = std::move(found->second);
  ops_.erase(found);
  return true;
}

std::shared_ptr<const Operator> Registry::find(std::string_view name) const {
  std::scoped_lock lock(mutex_);
  auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : found->second;
}

std::shared_ptr<const Operator> Registry::need(std::string_view name) const {
  if (auto op = find(name)) return op;
  const std::vector<std::string> known = names();
  std::string near = closest(name, known);
  // the same name in another namespace is a better guess than a similar spelling
  auto alone = [](std::string_view full) { return full.substr(full.rfind(':') + 1); };
  for (const std::string &other : known)
    if (alone(other) == alone(name)) near = other;
  throw_value_error(
      cat("there is no operator '", name, "'", near.empty() ? "" : cat("; did you mean '", near, "'?")));
}

std::vector<std::string> Registry::names() const {
  std::scoped_lock lock(mutex_);
  std::vector<std::string> out;
  for (const auto &[name, op] : ops_) out.push_back(name);
  return out;
}

namespace {

/// Rows that static initializers declared and that are not yet taken. `out_of_memory` is set if some were
/// lost.
struct Pending {
  std::mutex mutex;
  Registration rows;
  bool out_of_memory = false;
};

Pending &pending() {
  static Pending *const list = new Pending;  // never destroyed: initializers run in any order
  return *list;
}

}  // namespace

void add_pending(Registration rows) noexcept {
  Pending &p = pending();
  std::scoped_lock lock(p.mutex);
  try {
    for (OpDef &op : rows.ops) p.rows.ops.push_back(std::move(op));
    for (KernelDef &k : rows.kernels) p.rows.kernels.push_back(std::move(k));
    for (GradDef &g : rows.grads) p.rows.grads.push_back(std::move(g));
  } catch (...) {
    // static initializers must not throw, so take_pending reports the loss
    p.out_of_memory = true;
  }
}

Registration take_pending() {
  Pending &p = pending();
  std::scoped_lock lock(p.mutex);
  Registration rows = std::exchange(p.rows, {});
  if (std::exchange(p.out_of_memory, false)) throw std::bad_alloc();
  return rows;
}

std::shared_ptr<const Operator> make_op(OpDef def, std::vector<KernelDef> kernels,
                                        std::optional<GradDef> grad) {
  Faults faults;
  check_names(def, faults);
  for (KernelDef &k : kernels) check_kernel(def, k, faults);
  if (grad) check_grad(*grad, faults);
  faults.throw_if_any();
  return std::make_shared<const Operator>(Operator{std::move(def), std::move(kernels), std::move(grad)});
}

}  // namespace kw
