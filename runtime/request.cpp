// Builds the preimage of the cache key.
#include "runtime/request.h"

#include <bit>

#include "codegen/artifact.h"
#include "codegen/llvm_library.h"
#include "support/build_id.h"
#include "support/text.h"

namespace kw {

namespace {

/// Appends a captured value with its contents. Texts are preceded by their length, so that no text can
/// imitate other fields.
void captured_text(const Captured &c, std::string &out) {
  out += cat(static_cast<int>(c.kind), ":", c.integer ? cat(*c.integer, c.exceeds_int64 ? "u" : "") : "-",
             ":", hex_text(std::bit_cast<uint64_t>(c.real)), ":", static_cast<int>(c.dtype), ":",
             c.text.size(), ":", c.text);
  out += '(';
  for (const Captured &item : c.items) captured_text(item, out);
  out += ')';
  for (const auto &[name, value] : c.attributes) {
    out += cat(".", name, "=");
    captured_text(value, out);
  }
  out += ';';
}

/// Returns a derivation as text: its mode, then its lists, which are named.
std::string derivation_text(const Derivation &d) {
  std::string out = d.mode == Derivation::Mode::vjp ? "vjp" : "jvp";
  auto add = [&](std::string_view name, const auto &list) {
    out += cat(" ", name, "=");
    for (size_t i = 0; i < list.size(); ++i) out += cat(i ? "," : "", list[i]);
  };
  add("wrt", d.wrt);
  add("seeds", d.seeds);
  add("ones", d.ones);
  add("checkpoint", d.checkpoint);  // iterators, whose names hold neither commas nor spaces
  return out;
}

/// Returns a signature as text: per argument kind, dtype, rank, stride class and alias, then the outputs.
std::string signature_text(const Signature &s) {
  std::string out;
  for (const ArgSpec &a : s.args)
    out += cat(static_cast<int>(a.kind), ":", short_name(a.dtype), ":", a.rank, ":",
               static_cast<int>(a.stride_class), ":", a.alias, " ");
  out += "outs";
  for (StrideClass c : s.outs) out += cat(" ", static_cast<int>(c));
  for (uint8_t alias : s.out_aliases) out += cat(" =", alias);
  return out;
}

}  // namespace

std::string type_text(const ArgSpec &a) {
  if (a.kind == ArgKind::unused) return "unused";
  std::string dtype(numpy_name(a.dtype));
  if (a.kind == ArgKind::weak_scalar)
    return a.dtype == DType::b1 ? "Python bool" : a.dtype == DType::i64 ? "Python int" : "Python float";
  if (a.kind == ArgKind::strong_scalar) return cat(dtype, " scalar");
  std::vector<std::string> dims(a.rank, ":");
  std::string_view strides = a.stride_class == StrideClass::contiguous   ? ""
                             : a.stride_class == StrideClass::inner_unit ? " (rows apart)"
                                                                         : " (any strides)";
  return cat(dtype, "[", join_text(dims, ", "), "]", strides);
}

std::string key_text(const Request &r) {
  // the build id is part of the key: another compiler may produce other bytes for the same request
  std::string out = cat("artifact ", artifact_version, "\nbuild ", build_id(), "\nbackend ", r.backend,
                        "\nname ", r.name, "\nidentity ", r.identity, "\n");
  for (const auto &[name, value] : r.captures) {
    out += cat("captured ", name, " ");
    captured_text(value, out);
    out += '\n';
  }
  out += cat("signature ", signature_text(r.signature), "\n");
  for (const Derivation &d : r.derive) out += cat("derive ", derivation_text(d), "\n");
  for_each_field(r.options,
                 [&](std::string_view name, int value) { out += cat("option ", name, " ", value, "\n"); });
  if (r.options.debug_info)
    for (const TextPlace &place : r.places) out += cat("place ", place.first_line, " ", place.path, "\n");
  for_each_field(r.target, [&](std::string_view name, const std::string &value) {
    out += cat("target ", name, " ", value, "\n");
  });
  return out;
}

std::string code_name(const Request &r) {
  return cat("kw_", r.name, r.places.empty() ? "" : cat("_", r.places[0].first_line));
}

Hash128 key_of(const Request &r) { return hash_bytes(key_text(r)); }

void set_present_target(Request &r) {
  const std::string &lowered_for = debug_options().interp_target;
  r.target = kernel_target().target;
  r.backend = interpreting() || !has_llvm() ? "interp" : "llvm";
  if (!interpreting() || lowered_for.empty()) return;
  // the work per thread is set independently of the target class, so the change of class must keep it
  auto grain = r.target.grain;
  r.target = *target_of_class(lowered_for);
  r.target.grain = grain;
  r.backend = r.target.is_gpu() ? "interp_gpu" : "interp_lowered";
}

}  // namespace kw
