// Looks up, compiles and stores machine code for GPUs.
#include "runtime/cuda/cubins.h"

#include <elf.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <new>

#include "codegen/llvm_library.h"
#include "runtime/cuda/device.h"
#include "runtime/frozen.h"
#include "support/log.h"
#include "support/machine.h"
#include "support/stack.h"
#include "support/text.h"
#include "transform/pass.h"

namespace kw {

namespace {

/// Returns the preimage of the key of an entry. It holds the text, so an entry serves exactly this text. The
/// NVRTC that compiled it is noted in the entry and not in the key: a process without NVRTC must find it.
std::string key_text(const CubinSource &s) {
  std::string out = cat("cubin ", artifact_version, "\n");
  for (const std::string &option : nvrtc_options(s.arch, s.want)) out += cat("option ", option, "\n");
  for (std::string_view definition : nvrtc_attempts) out += cat("attempt ", definition, "\n");
  return cat(out, "text\n", s.text);
}

/// Set once the process knows its NVRTC: what another one has made is then compiled anew.
std::atomic<bool> knows_nvrtc{false};

/// Opens NVRTC, if there is one.
void look_for_nvrtc() {
  if (knows_nvrtc || is_frozen()) return;
  try {
    HoldForks whole;
    nvrtc_identity();
    knows_nvrtc = true;
  } catch (const CompileError &) {  // a full cache does without
  }
}

/// Returns machine code for an earlier architecture of the same major version, which later ones execute.
std::optional<Cubin> find_earlier_cubin(CubinSource source) {
  std::string wanted = source.arch;
  std::span<const GpuMachine> all = gpu_machines();
  for (size_t i = all.size(); i-- > 0;) {
    std::string_view name = all[i].name;
    bool same_major =
        name.size() == wanted.size() && name.substr(0, name.size() - 1) == wanted.substr(0, name.size() - 1);
    if (!same_major || name >= wanted) continue;
    source.arch = name;
    if (auto found = find_cubin(source)) return found;
  }
  return std::nullopt;
}

Cubin obtain_cubin(const CubinSource &source) {
  if (auto found = find_cubin(source)) return std::move(*found);
  try {
    return compile_cubin(source);
  } catch (const ResolvedError &e) {
    Code why = e.errors.empty() ? Code::E503 : e.errors.front().code;
    bool is_missing = why == Code::E502 || why == Code::E507;
    if (auto earlier = is_missing ? find_earlier_cubin(source) : std::nullopt) return std::move(*earlier);
    throw;
  }
}

}  // namespace

std::vector<CubinSource> cubin_sources(const Artifact &a, NvrtcWant want) {
  std::vector<CubinSource> out;
  std::string_view code = a.code;
  for (const LaunchKernel &k : a.launches.kernels) {
    std::string_view shared = code.substr(0, a.launches.shared_bytes);
    out.push_back(
        {cuda_text(cat(shared, code.substr(k.begin, k.end - k.begin))), a.launches.arch, want, a.name});
  }
  return out;
}

bool is_code_for(std::string_view image, std::string_view arch) {
  constexpr unsigned char abi_of_cuda_13 = 8;
  Elf64_Ehdr head;
  if (image.size() < sizeof head) return false;
  std::memcpy(&head, image.data(), sizeof head);
  bool is_cubin = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_machine == EM_CUDA;
  // The number of the architecture has moved (NVRTC 13.0; cuobjdump of 12 reads the last byte).
  uint32_t number = (head.e_ident[EI_ABIVERSION] < abi_of_cuda_13 ? head.e_flags : head.e_flags >> 8) & 0xff;
  return is_cubin && number == static_cast<uint32_t>(arch_number(arch));
}

std::optional<Cubin> find_cubin(const CubinSource &source) {
  auto entry = process_jit().find_code(key_text(source), CodeKind::cubin);
  if (!entry || (source.want == NvrtcWant::cubin && !is_code_for(entry->code, source.arch)))
    return std::nullopt;
  if (knows_nvrtc && entry->from != nvrtc_identity()) return std::nullopt;
  return Cubin{std::move(entry->code), std::move(entry->explain), std::move(entry->from)};
}

Cubin compile_cubin(const CubinSource &source) {
  if (is_frozen()) {
    Resolved e;
    e.code = Code::E507;
    e.message = cat("the machine code of kernel '", source.name, "' for ", source.arch,
                    " is in no cache, and KW_FROZEN=1 forbids compiling it");
    e.help = {"warm the cache up for this device (kw warmup --device), or run without KW_FROZEN"};
    throw ResolvedError({e});
  }
  auto lock = process_jit().lock_code(key_text(source));
  if (lock)  // another process may have stored it since the caller looked
    if (auto found = find_cubin(source)) return std::move(*found);
  double begin = now_ms();
  Cubin out;
  try {
    HoldForks whole;
    NvrtcResult made = compile_by_nvrtc(source.text, source.arch, source.want);
    out = {std::move(made.bytes), std::move(made.log), nvrtc_identity()};
  } catch (const CompileError &e) {
    std::vector<Resolved> errors;
    for (const Diagnostic &d : e.found()) errors.push_back(resolve(d, {}));
    throw ResolvedError(std::move(errors));
  }
  knows_nvrtc = true;
  auto tenths = static_cast<int64_t>((now_ms() - begin) * 10 + 0.5);
  KernelFigures figures = out.figures();
  log_message(
      LogArea::compile, LogLevel::info,
      cat("a kernel of '", source.name, "' was compiled in ", tenths / 10, ".", tenths % 10, " ms for ",
          source.arch, ": ", figures.registers, " registers, ", figures.spill_bytes, " bytes spilled"));
  Artifact a;
  a.key = key_text(source), a.name = source.name, a.from = out.identity;
  a.code_kind = CodeKind::cubin;
  a.code = out.bytes, a.explain = out.log;
  process_jit().store_code(a);
  return out;
}

Artifact warm_device(const Request &r, const SourceText &source, bool &was_stored) {
  look_for_nvrtc();
  Artifact made = process_jit().make(r, source, was_stored);
  std::vector<CubinSource> kernels = cubin_sources(made, NvrtcWant::cubin);
  for (const CubinSource &kernel : kernels) was_stored = was_stored && find_cubin(kernel).has_value();
  obtain_cubins(kernels);
  return made;
}

std::vector<Cubin> obtain_cubins(const std::vector<CubinSource> &sources) {
  std::vector<Cubin> out(sources.size());
  std::vector<std::exception_ptr> errors(sources.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < sources.size();) try {
        out[i] = obtain_cubin(sources[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  };
  pthread_t helper{};
  bool is_helped = sources.size() > 1 && start_thread(work, &helper);
  work();
  if (is_helped) ::pthread_join(helper, nullptr);
  for (const std::exception_ptr &e : errors)
    if (e) std::rethrow_exception(e);
  return out;
}

}  // namespace kw
