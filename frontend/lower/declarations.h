// Declarations of buffers: outputs, temporaries and NumPy's constructors,
// with their extents, dtypes and fills.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Lowers `x = allocate(…)`, `output_tensor(…)` and NumPy's constructors, which bind a name to a new buffer.
class DeclarationLowering : public Lowering {
 public:
  using Lowering::Lowering;

  void declare(const ast::Assign &s, std::string_view word, Loc loc);
  /// Returns the extents of a shape as i64. `help` is the advice for an extent that is a float.
  std::vector<Expr> shape_argument(const ast::ExprPtr &e, std::string_view help = integer_help);

 private:
  /// The parts of a declaration, before it is decided where the buffer is stored.
  struct Declared {
    std::vector<Expr> extents;
    Loc shape_loc;
    DType dtype = DType::f32;
    Fill fill = Fill::zero;
    std::optional<Operand> value;  ///< value of every element
  };
  Declared declared(const ast::CallExpr &call, std::string_view word, Loc loc, bool is_output);
  void warn_default_dtype(Loc loc);
  Buf declare_output(const std::string &name, const Declared &d, Sym sym, Loc loc);
  Buf declare_temporary(const Declared &d, Sym sym, Loc loc);
  void fill_elements(const Buf &buf, const Operand &value, Loc loc);
  DType dtype_argument(const ast::ExprPtr &e);
};

}  // namespace kw
