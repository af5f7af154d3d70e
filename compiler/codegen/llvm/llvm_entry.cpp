// The C entry and the containment of LLVM's failures (core.md 2). A callback catches error diagnostics; fatal
// errors and missing memory jump here.
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/llvm_entry.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <condition_variable>
#include <csetjmp>
#include <mutex>
#include <new>
#include <vector>

#include "codegen/llvm/emit.h"
#include "codegen/llvm/object.h"
#include "support/build_id.h"
#include "support/diagnostic.h"
#include "support/memory.h"
#include "support/text.h"

namespace kw {

namespace {

/// Bytes that must be free before LLVM is set up: three times what the set-up takes on x86-64. LLVM registers
/// its parts under locks and flags. If memory ends meanwhile, nobody releases these, and the next thread
/// waits for ever.
constexpr size_t memory_of_set_up = size_t{32} << 20;

/// Writers that no compile uses at present. Making one takes longer than lowering a small kernel.
class Writers {
 public:
  /// Returns an idle writer or a new one. Waits for a writer that is being made early.
  std::unique_ptr<ObjectWriter> take(const Target &target) {
    std::string name = name_of(target);
    {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [&] { return coming_ != name; });
      auto found =
          std::find_if(idle_.begin(), idle_.end(), [&](const auto &idle) { return idle.first == name; });
      if (found != idle_.end()) {
        auto writer = std::move(found->second);
        idle_.erase(found);
        return writer;
      }
    }
    return make(target);
  }
  void give_back(const Target &target, std::unique_ptr<ObjectWriter> writer) noexcept {
    try {
      std::scoped_lock lock(mutex_);
      if (idle_.size() < most_idle) idle_.emplace_back(name_of(target), std::move(writer));
    } catch (const std::bad_alloc &) {  // the next compile makes its own
    }
  }
  /// Makes a writer before a compile needs it. Calls `announce` as soon as take() would wait for this writer.
  template <class F>
  void make_early(const Target &target, F announce) {
    {
      std::scoped_lock lock(mutex_);
      coming_ = name_of(target);
    }
    announce();
    std::unique_ptr<ObjectWriter> made;
    try {
      made = make(target);
    } catch (const std::exception &) {  // take() meets the error again and reports it
    }
    if (made) give_back(target, std::move(made));
    {
      std::scoped_lock lock(mutex_);
      coming_.clear();
    }
    came_.notify_all();
  }

 private:
  // Writers kept for later compiles. Chosen: as many as threads that usually compile at once.
  static constexpr size_t most_idle = 8;
  static std::unique_ptr<ObjectWriter> make(const Target &target) {
    if (!has_memory(memory_of_set_up)) throw std::bad_alloc();
    return std::make_unique<ObjectWriter>(target);
  }
  /// Writers are interchangeable if triple and features are the same.
  static std::string name_of(const Target &target) { return cat(target.triple, " ", target.feature_text()); }
  std::mutex mutex_;
  std::condition_variable came_;
  std::string coming_;  // the target of the writer being made; empty: none
  std::vector<std::pair<std::string, std::unique_ptr<ObjectWriter>>> idle_;
};

Writers &writers() {
  static auto *all = new Writers;  // never destroyed: LLVM's own statics may go first
  return *all;
}

/// The data of one compile. On a fatal error it is leaked, with context and writer, whose state is unknown.
struct Compilation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<ObjectWriter> writer;
  std::string errors, result;
};

/// The place where a thread continues when LLVM cannot.
struct Escape {
  std::jmp_buf here;
  std::string *text = nullptr;
  bool no_memory = false;
};
thread_local Escape *escape = nullptr;

void on_fatal(void *, const char *reason, bool) {
  if (!escape) return;
  *escape->text = reason;
  std::longjmp(escape->here, 1);
}

/// Called by LLVM's own allocations and by this library's `operator new`. LLVM is compiled without exceptions
/// and would end the process.
[[noreturn]] void on_no_memory() {
  if (!escape) throw std::bad_alloc();
  escape->no_memory = true;
  std::longjmp(escape->here, 1);
}

/// Installs the handlers of fatal errors and of missing memory, once per process. A thread without an escape
/// gets the default treatment.
void install_handlers() {
  escape = nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal);
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { on_no_memory(); });
    std::set_new_handler(on_no_memory);
  });
}

/// Keeps the text of errors and drops warnings. Returning true tells LLVM that nothing is left to print.
struct CollectDiagnostics : llvm::DiagnosticHandler {
  explicit CollectDiagnostics(std::string &errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(errors_);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }
  std::string &errors_;
};

/// Verifies the module. Code generation crashes, or emits arbitrary code, if a value is used outside of its
/// dominance.
void verify_module(const llvm::Module &module) {
  std::string wrong;
  llvm::raw_string_ostream text(wrong);
  bool broken = llvm::verifyModule(module, &text);
  ensure(!broken, cat("the emitter made malformed LLVM IR: ", wrong));
}

/// Causes one of the failures that KwLlvmProvoke names. KW_PROVOKE_TYPE makes code that x86 cannot select.
void provoke(llvm::Module &module, int32_t what) {
  llvm::LLVMContext &context = module.getContext();
  if (what == KW_PROVOKE_DIAGNOSTIC) context.emitError("provoked diagnostic");
  if (what == KW_PROVOKE_FATAL) llvm::report_fatal_error("provoked fatal error");
  if (what == KW_PROVOKE_NO_MEMORY) llvm::report_bad_alloc_error("provoked");
  if (what == KW_PROVOKE_MALFORMED) llvm::BasicBlock::Create(context, "without_end", &*module.begin());
  if (what != KW_PROVOKE_TYPE) return;
  llvm::Function *f = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::PointerType::get(context, 0)}, false),
      llvm::Function::ExternalLinkage, "provoked", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  auto *scalable = llvm::ScalableVectorType::get(b.getInt32Ty(), 4);
  b.CreateStore(b.CreateAdd(b.CreateLoad(scalable, f->getArg(0)), b.CreateLoad(scalable, f->getArg(0))),
                f->getArg(0));
  b.CreateRetVoid();
}

/// Compiles a function into `c.result`; diagnostics go to `c.errors`.
void compile(const KwLlvmRequest &request, Compilation &c) {
  c.context.setDiagnosticHandler(std::make_unique<CollectDiagnostics>(c.errors));
  c.module = std::make_unique<llvm::Module>(request.func->name, c.context);
  prepare_module(*c.module, *request.target);
  emit_function(*c.module, *request.func, *request.target, request.places);
  provoke(*c.module, request.provoke);
  verify_module(*c.module);
  c.writer = writers().take(*request.target);
  c.result = c.writer->write(*c.module, static_cast<KwLlvmWant>(request.want));
}

/// `not_begun`: memory ended before LLVM was asked for anything that it could leave half done.
enum class Ended : uint8_t { returned, fatal, no_memory, not_begun };

/// Compiles so that LLVM can jump back here. longjmp may skip everything in between, which therefore owns
/// nothing but `c`.
Ended guarded_compile(const KwLlvmRequest &request, Compilation *c, std::string &error) {
  Escape here;
  here.text = &error;
  escape = &here;
  if (setjmp(here.here) != 0) {
    escape = nullptr;
    return here.no_memory ? Ended::no_memory : Ended::fatal;
  }
  try {
    compile(request, *c);
    error = c->errors;
  } catch (const std::bad_alloc &) {
    escape = nullptr;
    return Ended::not_begun;
  } catch (const std::exception &e) {
    error = e.what();
  }
  escape = nullptr;
  return Ended::returned;
}

}  // namespace
}  // namespace kw

extern "C" int32_t kw_llvm_compile(const KwLlvmRequest *request, KwLlvmReceive receive,
                                   void *context) noexcept {
  try {
    std::string error;
    if (std::string_view(request->build_id) != kw::build_id()) {
      error = kw::cat("libkernelwright_llvm.so is of another build (", kw::build_id(), ") than the core (",
                      request->build_id, ")");
      receive(context, error.data(), error.size());
      return 2;
    }
    if (!kw::can_throw()) return 3;
    kw::install_handlers();
    if (!request->func) {
      kw::writers().make_early(*request->target, [&] { receive(context, nullptr, 0); });
      return 0;
    }
    auto *c = new kw::Compilation;
    kw::Ended ended = kw::guarded_compile(*request, c, error);
    // After a jump out of LLVM, `c` is leaked: destructors would meet its state halfway.
    if (ended == kw::Ended::not_begun) delete c;
    if (ended == kw::Ended::no_memory || ended == kw::Ended::not_begun) return 3;
    bool returned = ended == kw::Ended::returned;
    std::string result = returned ? std::move(c->result) : std::string();
    bool is_clean = returned && error.empty();  // a writer that met an error is not used again
    if (is_clean) kw::writers().give_back(*request->target, std::move(c->writer));
    if (returned) delete c;
    const std::string &out = is_clean ? result : error;
    receive(context, out.data(), out.size());
    return is_clean ? 0 : 1;
  } catch (const std::bad_alloc &) {
    return 3;
  } catch (...) {
    constexpr std::string_view text = "an unknown exception in the LLVM library";
    receive(context, text.data(), text.size());
    return 1;
  }
}
