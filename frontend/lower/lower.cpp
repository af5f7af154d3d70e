// Lowers the function itself: its parameters and its results.
#include "frontend/lower/lower.h"

#include <algorithm>

#include "frontend/ir_mode.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/statements.h"
#include "frontend/parser.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

namespace {

/// Lowers the kernel itself: parameters, captured arrays, body and results. Helpers are lowered by
/// InlineLowering instead.
class FunctionLowering : public Lowering {
 public:
  using Lowering::Lowering;

  Func run();

 private:
  void parameters();
  void parameter(size_t number, std::vector<Sym> &strides);
  void captured_arrays(const Captures &captures, std::vector<Sym> &strides);
  Binding assigned_parameter(const ast::Parameter &p, const Operand &value);
  Buf parameter_buffer(const ast::Parameter &p, const ArgSpec &spec, std::vector<Sym> &strides);
  void finish_results();
  /// Finds the captured values of each function, which accompany the first mention of its number.
  void note_callees(const Captures &captures);
};

/// Lowers the function. The driver decides the orders of its sums.
Func FunctionLowering::run() {
  cx_.func.name = cx_.f.name;
  cx_.func.fp = cx_.in.options.fp;
  BlockBuilder body;
  body.owners.push_back(&cx_.f.body);
  cx_.builder = &body;
  parameters();
  note_callees(cx_.in.captures);
  statements().statements(cx_.f.body);
  cx_.func.body = body.finish(cells_of(body.owners));
  // refused statements are reported first: other errors may follow from the names that they would have bound
  cx_.rules.throw_if_refused();
  cx_.rules.missing_return(*cx_.sink);
  finish_results();
  cx_.sink->throw_if_errors();
  // a guard against silent loss: a statement may be left out only if there is an error
  ensure(!cx_.wide.left_out, cat("a statement of '", cx_.f.name, "' was left out without an error"));
  if (cx_.in.options.body == Body::overlapping) cx_.func.overlap = Overlap::possible;
  cx_.func.orders_open = true;
  cx_.func.body = number_loops(cx_.func.body);
  return cx_.func;
}

/// Creates the parameters and the symbols of their dims. The arguments' strides follow their extents, in the
/// order of the ABI.
void FunctionLowering::parameters() {
  cx_.rules.parameters(*cx_.sink);
  auto refuse_count = [&] {
    type_error(Code::E104, cx_.f.loc,
               cat("kernel '", cx_.f.name, "' takes ", counted(cx_.f.params.size(), "argument"), ", ",
                   cx_.in.signature.args.size(), " given"));
  };
  if (cx_.f.params.size() > cx_.in.signature.args.size()) refuse_count();
  std::vector<Sym> strides;
  for (size_t i = 0; i < cx_.f.params.size(); ++i) parameter(i, strides);
  captured_arrays(cx_.in.captures, strides);
  // the number of captured arrays is known only here
  if (cx_.f.params.size() + cx_.arrays.size() != cx_.in.signature.args.size()) refuse_count();
  cx_.func.extents.insert(cx_.func.extents.end(), strides.begin(), strides.end());
}

/// Creates the arguments after the parameters: arrays that the kernel, or a function that it calls, captures.
void FunctionLowering::captured_arrays(const Captures &captures, std::vector<Sym> &strides) {
  for (const auto &[name, c] : captures) {
    // an array may be captured several times; its number is new only at the first mention
    if (c.kind == Captured::Kind::array && static_cast<size_t>(*c.integer) == cx_.arrays.size()) {
      size_t number = cx_.f.params.size() + cx_.arrays.size();
      ensure(number < cx_.in.signature.args.size(), "a captured array without an argument");
      const ArgSpec &spec = cx_.in.signature.args[number];
      require_available(spec.dtype, cx_.f.loc);
      ast::Parameter parameter;
      parameter.name = c.text;
      parameter.loc = cx_.f.loc;
      Param param;
      param.buf = parameter_buffer(parameter, spec, strides);
      cx_.func.params.push_back(param);
      // an alias keeps its own parameter in the ABI, but the body reads the earlier argument
      cx_.arrays.push_back(spec.alias < number ? argument_buffer(spec.alias) : param.buf);
    }
    captured_arrays(c.attributes, strides);
  }
}

/// Creates the buffer of a tensor, with the extents and strides that describe it.
Buf FunctionLowering::parameter_buffer(const ast::Parameter &p, const ArgSpec &spec,
                                       std::vector<Sym> &strides) {
  std::vector<Expr> extents, stride_exprs;
  for (size_t d = 0; d < spec.rank; ++d) {
    cx_.func.extents.push_back(make_sym(SymKind::extent, DType::i64, cat(p.name, "_", d), p.loc));
    extents.push_back(ref(cx_.func.extents.back(), p.loc));
  }
  // contiguous buffers have no strides: the extents determine them
  for (size_t d = 0; d < spec.rank && spec.stride_class != StrideClass::contiguous; ++d) {
    // stride 1 is known, so the call does not pass it
    if (spec.stride_class == StrideClass::inner_unit && d + 1 == spec.rank) {
      stride_exprs.push_back(const_int(1, p.loc));
      continue;
    }
    strides.push_back(make_sym(SymKind::stride, DType::i64, cat(p.name, "_s", d), p.loc));
    stride_exprs.push_back(ref(strides.back(), p.loc));
  }
  return make_buf(make_sym(SymKind::buffer, spec.dtype, p.name, p.loc), std::move(extents), Space::param,
                  std::move(stride_exprs));
}

/// Binds a number that the kernel assigns again to a cell, which first holds the argument.
Binding FunctionLowering::assigned_parameter(const ast::Parameter &p, const Operand &value) {
  LocalInfo &info = cx_.names.locals[p.name];
  info.home = &cx_.f.body;
  ++info.assignments;  // counts the argument itself
  Binding b;
  b.loc = p.loc;
  b.kind = Binding::Kind::cell;
  b.type = value.type();
  b.cell = cell_for(p.name, b.type);
  // until the first assignment the cell has the argument's value, so extents can use it
  b.known = value.expr;
  cx_.builder->add(store(b.cell, {}, value.expr, p.loc));
  return b;
}

/// Binds one parameter by the kind of its argument: a tensor to its buffer, a number to a symbol or a cell.
/// An unused argument is not a parameter of the function.
void FunctionLowering::parameter(size_t number, std::vector<Sym> &strides) {
  const ast::Parameter &p = cx_.f.params[number];
  const ArgSpec &spec = cx_.in.signature.args[number];
  Binding b;
  b.loc = p.loc;
  Param param;
  if (spec.kind == ArgKind::unused) {
    b.kind = Binding::Kind::value;
    b.value.kind = Operand::Kind::none;
    b.value.text = p.name;
    bind(p.name, std::move(b));
    return;
  }
  require_available(spec.dtype, p.loc);
  if (spec.kind != ArgKind::tensor) {
    param.sym = make_sym(SymKind::param, spec.dtype, p.name, p.loc);
    param.weak = spec.kind == ArgKind::weak_scalar;
    b.kind = Binding::Kind::value;
    b.value = scalar_operand(ref(param.sym, p.loc), param.weak, p.loc);
    auto local = cx_.names.locals.find(p.name);
    if (local != cx_.names.locals.end() && local->second.assignments > 0) b = assigned_parameter(p, b.value);
  } else {
    param.buf = parameter_buffer(p, spec, strides);
    b.kind = Binding::Kind::tensor;
    b.value.kind = Operand::Kind::tensor;
    b.value.buf = param.buf;
    if (spec.alias < number) {
      b.value.buf = argument_buffer(spec.alias);
      cx_.aliases[p.name] = {param.buf, b.value.buf};
    }
  }
  cx_.func.params.push_back(std::move(param));
  bind(p.name, std::move(b));
}

/// Reports outputs that are declared but not returned, and marks inputs that the kernel writes as inout.
void FunctionLowering::finish_results() {
  for (const auto &[name, loc] : cx_.outputs)
    if (cx_.rules.returned() && !cx_.names.returned.count(name))
      cx_.sink->add({Code::E208,
                     loc,
                     cat("output '", name, "' is not in the return value"),
                     {},
                     {cat("return it, or use allocate for a temporary")}});
  for (Param &p : cx_.func.params) {
    if (!p.buf || p.mode != ParamMode::in) continue;
    auto alias = cx_.aliases.find(p.buf->sym->name);
    // stores name the used buffer, so that it decides for all its aliases
    const Buf &used = alias == cx_.aliases.end() ? p.buf : alias->second.used;
    if (cx_.written.count(used->sym->name)) p.mode = ParamMode::inout;
  }
}

void FunctionLowering::note_callees(const Captures &captures) {
  for (const auto &[name, value] : captures) {
    if (value.kind == Captured::Kind::function && value.integer && !value.attributes.empty())
      cx_.wide.callees.try_emplace(*value.integer, &value.attributes);
    note_callees(value.attributes);
  }
}

}  // namespace

Func lower(const ast::Function &f, const FrontendInput &input, Sink &sink) {
  KernelWide wide;
  LowerContext cx{f, input, &sink, wide};
  return FunctionLowering(cx).run();
}

Func compile_source(const FrontendInput &input, Sink &sink) {
  TokenList tokens = tokenize(input.sources, input.source);
  if (tokens.ir_mode) return parse_ir(input.sources, input.source);
  ast::Function f = parse_function(tokens, sink);
  sink.throw_if_errors();
  return lower(f, input, sink);
}

}  // namespace kw
