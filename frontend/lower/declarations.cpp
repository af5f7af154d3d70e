// Lowering of the declarations of buffers: outputs, temporaries, NumPy's constructors.
#include "frontend/lower/declarations.h"

#include "frontend/lower/expressions.h"
#include "frontend/lower/statements.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

/// Returns the dtype that an argument names: `a.dtype`, `float32`, or the string "float32".
DType DeclarationLowering::dtype_argument(const ast::ExprPtr &e) {
  Operand o = expressions().scalar(e);
  std::optional<DType> t;
  if (o.kind == Operand::Kind::dtype) t = o.dtype;
  if (o.kind == Operand::Kind::text) t = dtype_from_numpy(o.text);
  if (!t)
    type_error(
        Code::E216, e->loc,
        o.kind == Operand::Kind::text ? cat("'", o.text, "' is no dtype") : cat(describe(o), " is no dtype"),
        "use `a.dtype`, a name like float32, or a string like \"float32\"");
  require_available(*t, e->loc);
  return *t;
}

/// Returns the extents of a shape as i64. A number is a shape of rank 1, and `()` the shape of rank 0.
std::vector<Expr> DeclarationLowering::shape_argument(const ast::ExprPtr &e, std::string_view help) {
  Operand o = expressions().scalar(e);
  if (o.kind == Operand::Kind::scalar) {  // one number stands for a tuple of one
    Operand tuple;
    tuple.kind = Operand::Kind::tuple;
    tuple.items.push_back(o);
    o = tuple;
  }
  if (o.kind != Operand::Kind::tuple)
    type_error(Code::E206, e->loc, cat("a shape is a tuple of integers, not ", describe(o)));
  std::vector<Expr> out;
  const auto *listed = ast::as<ast::Tuple>(e);
  for (const Operand &item : o.items) {
    const ast::ExprPtr &part =
        listed && listed->items.size() == o.items.size() ? listed->items[out.size()] : e;
    Expr extent = index_of(item, "an extent", expressions().float_help(item, *part, help));
    if (auto v = as_int(extent); v && *v < 0)
      type_error(Code::E206, item.loc, cat("an extent is negative: ", *v));
    out.push_back(extent);
  }
  return out;
}

/// Returns the dtype that NumPy uses for Python's own types; nothing for other expressions.
static std::optional<DType> dtype_of_python(const ast::ExprPtr &e, const Captures &captures) {
  const auto *n = ast::as<ast::Name>(e);
  if (!n || find_captured(captures, n->id)) return std::nullopt;
  if (n->id == "float") return DType::f64;
  if (n->id == "int") return DType::i64;
  return std::nullopt;
}

/// Returns the shape, dtype and elements that a declaration asks for.
DeclarationLowering::Declared DeclarationLowering::declared(const ast::CallExpr &call, std::string_view word,
                                                            Loc loc, bool is_output) {
  const Constructor *c = constructor_of(word);
  BufferArguments given = buffer_arguments(call, word, loc);
  Declared out;
  out.shape_loc = (*given.shape)->loc;
  std::optional<DType> like;
  // np.zeros_like(a) takes the extents of `a`, and its dtype unless another one is given
  if (c && c->is_like) {
    Operand model = expressions().scalar(*given.shape);
    if (model.kind != Operand::Kind::tensor)
      type_error(Code::E202, out.shape_loc, cat(word, " of ", describe(model)),
                 cat("pass a tensor to ", word));
    out.extents = model.buf->extents;
    like = model.buf->dtype;
  } else {
    out.extents = shape_argument(
        *given.shape, is_output ? "compute it with `//`, or pass it as an integer argument" : integer_help);
  }
  if (out.extents.size() > max_rank)
    type_error(Code::E206, loc, cat("a tensor has at most ", max_rank, " dimensions"));
  if (given.value) out.value = expressions().scalar(*given.value);
  // throws the error for a fill value that is not a number
  if (out.value && out.value->kind != Operand::Kind::scalar) adapt(*out.value, DType::f64);
  auto python = c && given.dtype ? dtype_of_python(*given.dtype, cx_.in.captures) : std::nullopt;
  // NumPy's defaults: the dtype of the model or of the value, else float64; without NumPy float32
  out.dtype = python        ? *python
              : given.dtype ? dtype_argument(*given.dtype)
              : like        ? *like
              : out.value   ? out.value->type().dtype
              : c           ? DType::f64
                            : DType::f32;
  using Content = Constructor::Content;
  // `meant` and `empty` differ only in what debug=True reports about reads before writes
  out.fill = !c ? Fill::zero : c->content == Content::empty ? Fill::empty : Fill::meant;
  if (c && c->content == Content::one) out.value = scalar_operand(const_int(1, loc), true, loc);
  bool is_akg = find_captured(cx_.in.captures, std::string(akg_words));
  if (word == "output_tensor" && !given.dtype && !is_akg) warn_default_dtype(loc);
  return out;
}

/// Warns (W102) about an output that is float32 by default next to tensors of other float types.
void DeclarationLowering::warn_default_dtype(Loc loc) {
  for (const Param &p : cx_.func.params) {
    bool is_other_float =
        p.buf && p.mode != ParamMode::out && is_float(p.buf->dtype) && p.buf->dtype != DType::f32;
    if (!is_other_float) continue;
    auto same = [](const Diagnostic &d) { return d.code == Code::W102; };
    if (std::any_of(cx_.sink->all().begin(), cx_.sink->all().end(), same)) return;
    const std::string &name = p.buf->sym->name;
    cx_.sink->add(
        {Code::W102,
         loc,
         cat("output_tensor without a dtype makes float32, but '", name, "' is ", numpy_name(p.buf->dtype)),
         {},
         {cat("write `output_tensor(shape, ", name, ".dtype)`, or \"float32\" where that is meant")}});
    return;
  }
}

/// Creates the buffer of an output, with its parameter.
Buf DeclarationLowering::declare_output(const std::string &name, const Declared &d, Sym sym, Loc loc) {
  for (const Expr &e : d.extents)
    // outputs are allocated before the kernel runs, so their extents cannot depend on elements or loops
    if (!is_call_constant(e, false))
      type_error(Code::E206, e.loc().known() ? e.loc() : d.shape_loc,
                 cat("the extents of output '", name, "' must follow from shapes and integer arguments"),
                 "pass the size as an argument");
  std::vector<Expr> strides;
  size_t number = cx_.outputs.size();
  // an array given as out= may have any strides
  bool strided =
      number < cx_.in.signature.outs.size() && cx_.in.signature.outs[number] == StrideClass::general;
  for (size_t k = 0; strided && k < d.extents.size(); ++k) {
    cx_.func.extents.push_back(make_sym(SymKind::stride, DType::i64, cat(name, "_s", k), sym->loc));
    strides.push_back(ref(cx_.func.extents.back(), sym->loc));
  }
  Buf buf = make_buf(std::move(sym), d.extents, Space::param, std::move(strides));
  cx_.func.params.push_back({buf, {}, ParamMode::out, false, d.fill});
  cx_.outputs[name] = loc;
  const std::vector<uint8_t> &aliases = cx_.in.signature.out_aliases;
  if (number < aliases.size() && aliases[number] < cx_.f.params.size() + cx_.arrays.size()) {
    Buf used = argument_buffer(aliases[number]);  // the body writes the buffer that it reads
    cx_.aliases[name] = {buf, used};
    return used;
  }
  return buf;
}

/// Creates the buffer of a temporary. Small buffers of a constant size are on the stack.
Buf DeclarationLowering::declare_temporary(const Declared &d, Sym sym, Loc loc) {
  // Bytes. Chosen: the temporaries on the stack of a kernel take at most 32 KB.
  constexpr int64_t most = 4096, most_together = 32 << 10;
  // -1 if an extent is unknown or negative or the size exceeds the limit: then the buffer is on the heap. The
  // product of the extents so far is tested first, so that it cannot overflow.
  int64_t bytes = item_size(d.dtype);
  for (const Expr &e : d.extents) {
    auto extent = as_int(e);
    bool fits = bytes >= 0 && bytes <= most && extent && *extent >= 0 && *extent <= most;
    bytes = fits ? bytes * *extent : -1;
  }
  bool small = bytes >= 0 && bytes <= most && cx_.wide.stack_bytes + bytes <= most_together;
  // the limit applies to the kernel together with the helpers inlined in it
  if (small) cx_.wide.stack_bytes += bytes;
  Buf buf = make_buf(std::move(sym), d.extents, small ? Space::stack : Space::heap);
  cx_.builder->add_alloc(buf, d.fill, loc);
  return buf;
}

/// Stores one value to every element.
void DeclarationLowering::fill_elements(const Buf &buf, const Operand &value, Loc loc) {
  Expr stored = statements().store_value(value, buf->dtype);
  // the value is evaluated once, before the loops
  if (!as_const(stored)) {
    Sym once = make_sym(SymKind::local, stored.dtype(), "value", loc);
    cx_.builder->add_let(once, stored, loc);
    stored = ref(once, loc);
  }
  std::vector<Sym> iters;
  std::vector<Expr> index;
  for (size_t d = 0; d < buf->rank(); ++d) {
    iters.push_back(make_sym(SymKind::iter, DType::i64, "i", loc));
    index.push_back(ref(iters.back(), loc));
  }
  Stmt out = store(buf, std::move(index), stored, loc);
  // np.full((n, m), v) → for i in range(n): for j in range(m): buf[i, j] = v
  for (size_t d = buf->rank(); d-- > 0;)
    out = for_loop(
        {iters[d], const_int(0), buf->extents[d], 1, ForKind::serial, Hint::none, {}, std::move(out)}, loc);
  cx_.builder->add(std::move(out));
}

/// Lowers a declaration: makes the buffer, binds the name to it and stores the fill value, if there is one.
void DeclarationLowering::declare(const ast::Assign &s, std::string_view word, Loc loc) {
  const std::string &name = ast::as<ast::Name>(s.target)->id;
  auto found = cx_.env.find(name);
  if (found != cx_.env.end() &&
      found->second.kind != Binding::Kind::partial)  // an earlier block had its own buffer of this name
    type_error(Code::E212, s.target->loc,
               found->second.kind == Binding::Kind::tensor ? cat("the tensor '", name, "' is redefined")
                                                           : cat("'", name, "' is already in use"),
               "use another name for the buffer");
  bool is_output = cx_.rules.is_output(s, word);
  Declared d = declared(*ast::as<ast::CallExpr>(s.value), word, loc, is_output);
  Sym sym = make_sym(SymKind::buffer, d.dtype, name, s.target->loc);
  Buf buf =
      is_output ? declare_output(name, d, std::move(sym), loc) : declare_temporary(d, std::move(sym), loc);
  Binding b;
  b.kind = Binding::Kind::tensor;
  b.loc = loc;
  b.value.kind = Operand::Kind::tensor;
  b.value.buf = buf;
  bind(name, std::move(b));
  // a fill counts as a write of the kernel, as an assignment of elements would
  if (d.value) {
    cx_.root->written.insert(buf->sym->name);
    fill_elements(buf, *d.value, loc);
  }
}

}  // namespace kw
