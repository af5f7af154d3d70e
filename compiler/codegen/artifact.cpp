// KWA1: header {magic, version, size, checksum, section count}, then sections {tag, length, bytes}.
#include "codegen/artifact.h"

#include <algorithm>

#include "codegen/bytes.h"
#include "support/hash.h"

namespace kw {

namespace {

constexpr std::string_view magic = "KWA1";
// magic, version, size, hash, number of sections (core.md 3)
constexpr size_t header_size = 4 + 4 + 8 + 16 + 4;

// Limits of a reader: more than any kernel has, and little enough that no entry makes a message of many
// megabytes, whoever wrote it.
constexpr size_t most_params = max_args + max_outputs, most_sites = size_t{1} << 20, most_notes = 1024,
                 // Launches of one kernel, and values that a launch receives. Chosen.
    most_kernels = 1 << 12, most_kernel_params = 1 << 10, most_loops = 1 << 16,
                 // Bytes of a name, a text and a source line; more means that the artifact is corrupt.
                 // Chosen.
    most_name = 4096, most_text = 64 << 10, most_line = 4 << 20;

enum class Section : uint32_t {
  key = 1,
  sig,
  prog,
  sites,
  diag,
  elf,
  ir,
  explain,
  from,
  library,
  cuda,
  launch,
  cubin
};

/// Encodes the parameters and results. The readers below take the same fields in the same order. A change of
/// one side needs a change of the other and a new artifact_version.
std::string signature_bytes(const Artifact &a) {
  ByteWriter w;
  w.text(a.name);
  w.u32(static_cast<uint32_t>(a.params.size()));
  for (const ParamRecord &p : a.params) {
    w.text(p.name);
    w.u8(p.is_tensor);
    w.u8(static_cast<uint8_t>(p.dtype));
    w.u8(p.rank);
    w.u8(static_cast<uint8_t>(p.mode));
    w.u8(static_cast<uint8_t>(p.stride_class));
    w.u8(static_cast<uint8_t>(p.fill));
    w.u32(static_cast<uint32_t>(p.arg));
    w.u64(p.in_place);
  }
  w.u32(static_cast<uint32_t>(a.results.size()));
  for (uint32_t r : a.results) w.u32(r);
  w.u8(a.tuple_of_one);
  return w.take();
}

/// Parses what signature_bytes wrote. Returns false if a value is out of range. Enumerators are checked
/// before the cast: a corrupt byte would otherwise become a value that no `switch` knows.
bool read_signature(std::string_view bytes, Artifact &a) {
  ByteReader r(bytes);
  a.name = r.text(most_name);
  // A parameter has at least 23 bytes, one of them of its name.
  a.params.resize(r.count(23, most_params));
  for (ParamRecord &p : a.params) {
    p.name = r.text(most_name);
    p.is_tensor = r.u8() != 0;
    uint8_t dtype = r.u8(), rank = r.u8(), mode = r.u8(), stride_class = r.u8(), fill = r.u8();
    if (dtype >= dtype_count || rank > max_rank || mode > 2 || stride_class > 2 || fill > 1) return false;
    p.dtype = static_cast<DType>(dtype);
    p.rank = rank;
    p.mode = static_cast<ParamMode>(mode);
    p.stride_class = static_cast<StrideClass>(stride_class);
    p.fill = static_cast<Fill>(fill);
    p.arg = static_cast<int32_t>(r.u32());
    p.in_place = r.u64();
    if (p.arg < -1 || p.arg >= static_cast<int32_t>(max_args)) return false;
  }
  a.results.resize(r.count(4, most_params));
  for (uint32_t &result : a.results) {
    result = r.u32();
    if (result >= a.params.size()) return false;
  }
  a.tuple_of_one = r.u8() != 0;
  return r.ok() && r.at_end();
}

/// Encodes a sum such as `n + 2 * m - 1` as its text, its constant and its terms.
void write_sum(ByteWriter &w, const ExtentSum &s) {
  w.text(s.text);
  w.u64(static_cast<uint64_t>(s.constant));
  w.u32(static_cast<uint32_t>(s.terms.size()));
  for (const ExtentSum::Term &t : s.terms) w.u32(t.dim), w.u64(static_cast<uint64_t>(t.factor));
}
/// Parses a sum. A read past the end shows in r.ok(), which the caller asks once after the last field.
void read_sum(ByteReader &r, ExtentSum &s) {
  s.text = r.text(most_text);
  s.constant = static_cast<int64_t>(r.u64());
  s.terms.resize(r.count(12, most_notes));
  for (ExtentSum::Term &t : s.terms) t = {r.u32(), static_cast<int64_t>(r.u64())};
}

/// Encodes a list of strings as their number and the strings.
void write_texts(ByteWriter &w, const std::vector<std::string> &list) {
  w.u32(static_cast<uint32_t>(list.size()));
  for (const std::string &t : list) w.text(t);
}
void read_texts(ByteReader &r, std::vector<std::string> &list) {
  list.resize(r.count(4, most_notes));
  for (std::string &t : list) t = r.text(most_text);
}

void write_message(ByteWriter &w, const SiteMessage &m) {
  w.text(m.before);
  w.u8(static_cast<uint8_t>(m.value));
  w.text(m.after);
  w.text(m.note);
}
/// Parses the message of a site. Returns false for a kind of value that does not exist.
bool read_message(ByteReader &r, SiteMessage &m) {
  m.before = r.text(most_text);
  uint8_t value = r.u8();
  if (value > static_cast<uint8_t>(SiteMessage::Value::f64)) return false;
  m.value = static_cast<SiteMessage::Value>(value);
  m.after = r.text(most_text);
  m.note = r.text(most_text);
  return true;
}

/// Encodes a place in the source, with the text of the line that a message shows.
template <class Place>
void write_place(ByteWriter &w, const Place &p) {
  w.u32(static_cast<uint32_t>(p.line));
  w.u32(p.column);
  w.u32(p.end_column);
  w.text(p.line_text);
}
/// Encodes the sites in the order of their numbers, by which a fault names them.
std::string site_bytes(const Artifact &a) {
  ByteWriter w;
  w.u32(static_cast<uint32_t>(a.sites.size()));
  for (const SiteRecord &s : a.sites) {
    w.u8(static_cast<uint8_t>(s.code));
    write_place(w, s);
    w.text(s.tensor);
    w.u32(s.dim);
    w.u8(s.from_end);
    w.u8(s.is_unsigned);
    w.u32(static_cast<uint32_t>(s.conditions.size()));
    for (const ShapeCondition &c : s.conditions) write_sum(w, c.larger), write_sum(w, c.smaller);
    write_texts(w, s.notes);
    w.u32(s.text);
    write_message(w, s.message);
    w.u32(s.rank);
  }
  return w.take();
}

/// Parses a diagnostic code of one kind: 'E' for sites, 'W' for warnings. Returns false for any other code.
bool read_code(ByteReader &r, Code &code, char kind) {
  uint8_t v = r.u8();
  if (v >= code_table().size()) return false;
  code = static_cast<Code>(v);
  return row_of(code).name[0] == kind;
}

template <class Place>
bool read_place(ByteReader &r, Place &p) {
  p.line = static_cast<int32_t>(r.u32());
  p.column = r.u32();
  p.end_column = r.u32();
  p.line_text = r.text(most_line);
  // The message underlines these columns, so they must lie within the text of the line. Line -1 stands for an
  // unknown place, whose columns are not used.
  size_t end = p.line_text.size() + 2;
  bool is_in_line = p.column >= 1 && p.column <= end && p.end_column <= end;
  return p.line == -1 || (p.line >= 0 && is_in_line);
}

bool read_sites(std::string_view bytes, Artifact &a) {
  ByteReader r(bytes);
  // A site has at least 56 bytes, with empty texts.
  a.sites.resize(r.count(56, most_sites));
  for (SiteRecord &s : a.sites) {
    if (!read_code(r, s.code, 'E') || !read_place(r, s)) return false;
    s.tensor = r.text(most_name);
    s.dim = r.u32();
    s.from_end = r.u8() != 0;
    s.is_unsigned = r.u8() != 0;
    // A condition has at least 32 bytes.
    s.conditions.resize(r.count(32, most_notes));
    for (ShapeCondition &c : s.conditions) read_sum(r, c.larger), read_sum(r, c.smaller);
    read_texts(r, s.notes);
    s.text = r.u32();
    if (!read_message(r, s.message)) return false;
    s.rank = r.u32();
  }
  return r.ok() && r.at_end();
}

/// Encodes the warnings of the compilation, with the source lines that their messages show.
std::string warning_bytes(const Artifact &a) {
  ByteWriter w;
  w.u32(static_cast<uint32_t>(a.warnings.size()));
  for (const Resolved &d : a.warnings) {
    w.u8(static_cast<uint8_t>(d.code));
    write_place(w, d);
    w.text(d.message);
    write_texts(w, d.notes);
    write_texts(w, d.help);
    w.u32(d.text);
  }
  return w.take();
}

bool read_warnings(std::string_view bytes, Artifact &a) {
  ByteReader r(bytes);
  // A warning has at least 33 bytes.
  a.warnings.resize(r.count(33, most_notes));
  for (Resolved &d : a.warnings) {
    if (!read_code(r, d.code, 'W') || !read_place(r, d)) return false;
    d.message = r.text(most_text);
    read_texts(r, d.notes);
    read_texts(r, d.help);
    d.text = r.u32();
  }
  return r.ok() && r.at_end();
}

/// Encodes the stack code as it is. The places of output extents follow for messages.
std::string program_bytes(const EntryProgram &p) {
  ByteWriter w;
  w.text(p.code);
  w.u8(p.bounded);
  w.u32(static_cast<uint32_t>(p.extent_places.size()));
  for (const ExtentPlace &at : p.extent_places) {
    write_place(w, at);
  }
  return w.take();
}

bool read_program(std::string_view bytes, EntryProgram &p) {
  ByteReader r(bytes);
  p.code = r.text();
  p.bounded = r.u8() != 0;
  // A place has at least 16 bytes.
  p.extent_places.resize(r.count(16, max_outputs * max_rank));
  bool known = std::all_of(p.extent_places.begin(), p.extent_places.end(),
                           [&](ExtentPlace &at) { return read_place(r, at); });
  return known && r.ok() && r.at_end();
}

/// Threads of a block, on every GPU (CUDA C++ Programming Guide).
constexpr uint32_t most_threads = 1024;

/// Encodes the records of the kernels and the stack code of the host.
std::string launch_bytes(const LaunchProgram &p) {
  ByteWriter w;
  w.text(p.code);
  w.text(p.arch);
  w.u8(p.reads_device), w.u8(p.has_loops);
  w.u32(p.shared_bytes);
  w.u32(static_cast<uint32_t>(p.kernels.size()));
  for (const LaunchKernel &k : p.kernels) {
    w.text(k.name);
    w.u32(k.begin), w.u32(k.end), w.u32(k.threads), w.u32(k.temporaries), w.u32(k.side);
    w.u32(static_cast<uint32_t>(k.params.size()));
    for (const CudaParam &param : k.params) w.u8(static_cast<uint8_t>(param.kind)), w.u32(param.index);
    w.u32(k.block_bytes);
    w.u32(static_cast<uint32_t>(k.loops.size()));
    for (const LoopLine &l : k.loops) w.u32(l.text), w.u32(static_cast<uint32_t>(l.line));
    w.text(k.condition);
    w.text(k.stores);
  }
  return w.take();
}

bool read_launches(std::string_view bytes, LaunchProgram &p) {
  ByteReader r(bytes);
  p.code = r.text();
  p.arch = r.text(most_name);
  p.reads_device = r.u8() != 0, p.has_loops = r.u8() != 0;
  p.shared_bytes = r.u32();
  // A kernel has at least 44 bytes, a parameter 5, a loop 8.
  p.kernels.resize(r.count(44, most_kernels));
  for (LaunchKernel &k : p.kernels) {
    k.name = r.text(most_name);
    k.begin = r.u32(), k.end = r.u32(), k.threads = r.u32(), k.temporaries = r.u32(), k.side = r.u32();
    if (k.begin < p.shared_bytes || k.begin > k.end || k.threads == 0 || k.threads > most_threads)
      return false;
    k.params.resize(r.count(5, most_kernel_params));
    for (CudaParam &param : k.params) {
      uint8_t kind = r.u8();
      uint32_t index = r.u32();
      if (kind > static_cast<uint8_t>(CudaParam::Kind::call) || index > UINT16_MAX) return false;
      param = {static_cast<CudaParam::Kind>(kind), static_cast<uint16_t>(index)};
    }
    k.block_bytes = r.u32();
    k.loops.resize(r.count(8, most_loops));
    for (LoopLine &l : k.loops) l.text = r.u32(), l.line = static_cast<int32_t>(r.u32());
    k.condition = r.text();
    k.stores = r.text();
  }
  return r.ok() && r.at_end();
}

/// Parses one section into its part of the artifact. Returns false for an unknown tag or malformed bytes. The
/// tag of the code section determines the kind of code that the artifact holds.
bool read_section(Section tag, std::string_view bytes, Artifact &a) {
  switch (tag) {
    case Section::key: a.key = bytes; return true;
    case Section::sig: return read_signature(bytes, a);
    case Section::prog: return read_program(bytes, a.program);
    case Section::sites: return read_sites(bytes, a);
    case Section::diag: return read_warnings(bytes, a);
    case Section::elf:
      a.code_kind = CodeKind::elf;
      a.code = bytes;
      return true;
    case Section::ir:
      a.code_kind = CodeKind::ir;
      a.code = bytes;
      return true;
    case Section::library:
      a.code_kind = CodeKind::library;
      a.code = bytes;
      return true;
    case Section::cuda:
      a.code_kind = CodeKind::cuda;
      a.code = bytes;
      return true;
    case Section::cubin:
      a.code_kind = CodeKind::cubin;
      a.code = bytes;
      return true;
    case Section::launch: return read_launches(bytes, a.launches);
    case Section::explain: a.explain = bytes; return true;
    case Section::from: a.from = bytes; return true;
  }
  return false;
}

}  // namespace

std::string serialize(const Artifact &a) {
  ByteWriter body;
  uint32_t count = 0;
  auto section = [&](Section tag, std::string_view bytes) {
    body.u32(static_cast<uint32_t>(tag));
    body.text(bytes);
    ++count;
  };
  section(Section::key, a.key);
  section(Section::sig, signature_bytes(a));
  section(Section::prog, program_bytes(a.program));
  section(Section::sites, site_bytes(a));
  section(Section::diag, warning_bytes(a));
  // In the order of CodeKind.
  constexpr Section code_sections[] = {Section::elf, Section::ir, Section::library, Section::cuda,
                                       Section::cubin};
  section(code_sections[static_cast<size_t>(a.code_kind)], a.code);
  if (a.code_kind == CodeKind::cuda) section(Section::launch, launch_bytes(a.launches));
  section(Section::explain, a.explain);
  section(Section::from, a.from);
  std::string rest = body.take();
  ByteWriter tail;
  tail.u32(count);
  rest = tail.take() + rest;
  // The checksum covers all bytes after it: the number of sections and the sections themselves.
  Hash128 checksum = hash_bytes(rest);
  ByteWriter head;
  for (char c : magic) head.u8(static_cast<uint8_t>(c));
  head.u32(artifact_version);
  head.u64(header_size - 4 + rest.size());
  head.u64(checksum.low);
  head.u64(checksum.high);
  return head.take() + rest;
}

bool is_of_another_version(std::string_view bytes) {
  if (bytes.size() < header_size || bytes.substr(0, 4) != magic) return false;
  return ByteReader(bytes.substr(4)).u32() != artifact_version;
}

std::optional<Artifact> deserialize(std::string_view bytes) {
  if (bytes.size() < header_size || bytes.substr(0, 4) != magic) return std::nullopt;
  ByteReader head(bytes.substr(4, header_size - 8));
  if (head.u32() != artifact_version || head.u64() != bytes.size()) return std::nullopt;
  Hash128 checksum;
  checksum.low = head.u64();
  checksum.high = head.u64();
  // A damaged file fails here. The readers of sections check their values all the same: a checksum does not
  // tell who wrote the file.
  std::string_view rest = bytes.substr(header_size - 4);
  if (hash_bytes(rest) != checksum) return std::nullopt;
  ByteReader r(rest);
  Artifact a;
  for (uint32_t n = r.count(8); n > 0; --n) {
    auto tag = static_cast<Section>(r.u32());
    std::string_view section = r.text();
    if (!r.ok() || !read_section(tag, section, a)) return std::nullopt;
  }
  bool fits = std::all_of(a.launches.kernels.begin(), a.launches.kernels.end(),
                          [&](const LaunchKernel &k) { return k.end <= a.code.size(); });
  if (!r.ok() || !r.at_end() || !fits) return std::nullopt;
  return a;
}

}  // namespace kw
