// Emits the CUDA C++ text of one kernel: the loops of a launch, or statements that one thread executes.
// Prints what the schedule decided and chooses nothing.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/func.h"
#include "support/diagnostic.h"
#include "support/target.h"

namespace kw {

/// One parameter of a kernel: which value of the call it receives.
struct CudaParam {
  enum class Kind : uint8_t {
    data,       ///< the array of the parameter with this number among the buffers of the function
    dim,        ///< an extent or a stride
    scalar,     ///< a scalar argument
    iterator,   ///< of the loop around the launch with this number, outermost first
    slot,       ///< the memory that launches share with this number
    temporary,  ///< a temporary of its threads, with this number
    call,       ///< the record of faults, the cancel flag and the number of the call: `kw_call`
  };
  Kind kind;
  uint16_t index = 0;

  friend bool operator==(const CudaParam &, const CudaParam &) = default;
};

/// What a kernel is made of.
struct CudaSource {
  const Func &f;
  const Target &target;
  std::string name;
  Stmt body;
  std::vector<std::pair<Sym, Expr>> values{};  ///< of the host around the launch, outermost first
  std::vector<Sym> iterators{};                ///< of the host's loops around the launch, outermost first
  std::vector<Buf> shared{};             ///< cells and temporaries that several launches use, by their slots
  bool may_follow_fault = false;         ///< another launch of the call may have found a fault
  const SourcePlaces *places = nullptr;  ///< with which lines get directives; null: none do
};

struct CudaKernel {
  std::string name, text;
  uint32_t threads = 1;        ///< of a block
  std::array<Expr, 3> blocks;  ///< x, y, z: i64 over what the host knows
  std::vector<CudaParam> params;
  /// Bytes of each temporary for one thread: i64 over what the host knows.
  std::vector<Expr> temporaries{};
  uint32_t block_bytes = 0;           ///< of memory that the threads of a block share
  std::vector<Loc> loops{};           ///< where its loops stand
  std::vector<std::string> stores{};  ///< names of the arrays in device memory that it stores to
};

/// What the kernels of a program share: elementary functions, and arrays of constants.
struct CudaShared {
  std::vector<std::string> function_names{};
  std::unordered_map<const BufNode *, std::string> constants{};  ///< their names
  std::string text{};
  std::string team_functions{};  ///< of block loops, if there are any
  bool has_block_teams = false;
};

/// Emits one kernel without the prelude; adds what it needs to `shared`, whose text stands before it.
CudaKernel emit_cuda(const CudaSource &source, CudaShared &shared);

}  // namespace kw
