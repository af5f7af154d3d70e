// The tokenizer: one pass over the bytes with an indentation stack.
#include "frontend/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/text.h"

namespace kw {

namespace {

constexpr size_t max_brackets = 200;      // the same limit as CPython
constexpr size_t max_ir_brackets = 4000;  // printed IR puts every compound operand into parentheses

/// Test one byte. Each byte of a character beyond ASCII counts as a letter, because the Unicode classes are
/// not looked up.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80);
}
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

/// Reads one text from its first byte to its last. Between logical lines no bracket is open, since a newline
/// inside brackets ends no line.
class Lexer {
 public:
  Lexer(std::string_view text, uint32_t source) : text_(text), source_(source) {}

  TokenList run();
  /// Returns the offset at which the first definition of the text ends.
  size_t definition_end();

 private:
  void logical_line();
  /// Returns the byte `offset` places ahead, or 0 after the end, so that callers can look ahead unchecked.
  char at(size_t offset = 0) const { return pos_ + offset < text_.size() ? text_[pos_ + offset] : '\0'; }
  /// Returns the location from `begin` to the position.
  Loc span(size_t begin) const {
    return {source_, static_cast<uint32_t>(begin), static_cast<uint32_t>(pos_)};
  }
  /// Throws E100 for the text from `begin` to the position, at least one byte.
  [[noreturn]] void fail(size_t begin, std::string message) const {
    Loc loc{source_, static_cast<uint32_t>(begin), static_cast<uint32_t>(std::max(pos_, begin + 1))};
    throw CompileError(Diagnostic{Code::E100, loc, std::move(message), {}, {}});
  }
  /// Appends a token that reaches from `begin` to the position.
  void emit(TokenKind kind, size_t begin, std::string value = {}) {
    out_.tokens.push_back({kind, span(begin), text_.substr(begin, pos_ - begin), std::move(value)});
  }

  bool start_line();
  void indentation(size_t width);
  void skip_blank();
  void token();
  void number();
  void digits(bool hex);
  bool keyword_follows() const;
  bool string_prefix(size_t length) const;
  void string();
  void escape(std::string &value, bool raw);
  void op();

  std::string_view text_;
  uint32_t source_;
  size_t pos_ = 0;                  ///< bytes read
  std::vector<char> brackets_;      ///< open brackets, the innermost last
  std::vector<size_t> indents_{0};  ///< columns of the open blocks, the outermost first
  bool first_line_ = true;          ///< no line with tokens was read yet
  TokenList out_;
};

/// Reads the indentation of a logical line. Returns false at the end of the text.
bool Lexer::start_line() {
  for (;;) {
    size_t width = 0;
    for (;; ++pos_) {
      if (at() == ' ')
        ++width;
      else if (at() == '\t')
        // a tab leads to the next multiple of 8 columns, as in CPython
        width = width / 8 * 8 + 8;
      else if (at() == '\f')
        // a form feed restarts the line, as in CPython
        width = 0;
      else
        break;
    }
    if (at() == '#')
      while (pos_ < text_.size() && at() != '\n') ++pos_;
    if (at() == '\r' && at(1) == '\n') ++pos_;
    if (pos_ >= text_.size()) return false;
    // blank lines and comment lines neither open nor close a block
    if (at() == '\n') {
      ++pos_;
      continue;
    }
    indentation(width);
    return true;
  }
}

/// Emits the tokens of a changed indentation, `width` columns. Throws E100 if no open block has that width.
///   if c:        →  if c : newline
///       x = 1    →  indent x = 1 newline
///   y = 2        →  dedent y = 2 newline
void Lexer::indentation(size_t width) {
  // the first line sets the outermost width: the source of a method begins indented
  if (first_line_) {
    indents_ = {width};
    first_line_ = false;
  }
  if (width > indents_.back()) {
    indents_.push_back(width);
    emit(TokenKind::indent, pos_);
  }
  while (width < indents_.back() && indents_.size() > 1) {
    indents_.pop_back();
    emit(TokenKind::dedent, pos_);
  }
  if (width != indents_.back()) fail(pos_, "unindent does not match any outer indentation level");
}

/// Skips spaces, comments and joined lines inside a logical line.
void Lexer::skip_blank() {
  for (;;) {
    char c = at();
    if (c == ' ' || c == '\t' || c == '\f') {
      ++pos_;
    } else if (c == '\r') {
      ++pos_;
    } else if (c == '\\' && (at(1) == '\n' || (at(1) == '\r' && at(2) == '\n'))) {
      pos_ += at(1) == '\n' ? 2 : 3;
    } else if (c == '#') {
      while (pos_ < text_.size() && at() != '\n') ++pos_;
    } else if (c == '\n' && !brackets_.empty()) {
      ++pos_;
    } else {
      return;
    }
  }
}

/// Skips digits and underscores. The position of the underscores is not checked.
void Lexer::digits(bool hex) {
  auto is_hex = [](char c) { return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  while (is_digit(at()) || at() == '_' || (hex && is_hex(at()))) ++pos_;
}

/// Returns whether the word at the position may follow a number without a space: CPython reads `1if x else
/// 2`.
bool Lexer::keyword_follows() const {
  size_t length = 0;
  while (is_name_char(at(length))) ++length;
  std::string_view word = text_.substr(pos_, length);
  static constexpr std::string_view words[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Reads an integer, a float or an imaginary number: 0x1F, 1_000, 1., 1e-3, 2j. The parser computes the
/// value.
void Lexer::number() {
  size_t begin = pos_;
  TokenKind kind = TokenKind::integer;
  // | 0x20 turns a capital letter into the small one
  char second = static_cast<char>(at(1) | 0x20);
  if (at() == '0' && (second == 'x' || second == 'o' || second == 'b')) {
    pos_ += 2;
    digits(second == 'x');
  } else {
    digits(false);
    if (at() == '.') {
      kind = TokenKind::real;
      ++pos_;
      digits(false);
    }
    // an `e` without a following digit is no exponent: `1else` is a number and a keyword
    bool exponent =
        (at() | 0x20) == 'e' && (is_digit(at(1)) || ((at(1) == '+' || at(1) == '-') && is_digit(at(2))));
    if (exponent) {
      kind = TokenKind::real;
      pos_ += 2;
      digits(false);
    }
    if ((at() | 0x20) == 'j') {
      kind = TokenKind::imaginary;
      ++pos_;
    }
  }
  // 3x is an error here, not the two tokens 3 and x
  if (is_name_char(at()) && !keyword_follows()) fail(begin, "invalid number");
  emit(kind, begin);
}

/// Returns whether a quote follows `length` prefix letters. Pairs of letters that Python refuses, such as bu,
/// pass as well.
bool Lexer::string_prefix(size_t length) const {
  for (size_t i = 0; i < length; ++i)
    if (std::string_view("rRbBfFuUtT").find(at(i)) == std::string_view::npos) return false;
  return at(length) == '"' || at(length) == '\'';
}

/// Appends a code point as UTF-8.
static void append_utf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18 & 7));
    out += static_cast<char>(0x80 | (c >> 12 & 63));
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

/// Appends the meaning of the escape sequence at the position to `value` and skips the sequence. Raw strings
/// keep the backslash, and so do sequences without a meaning. An escaped newline joins two lines.
void Lexer::escape(std::string &value, bool raw) {
  char c = at(1);
  static constexpr std::string_view letters = "ntrabfv\\'\"", meanings = "\n\t\r\a\b\f\v\\'\"";
  // each letter maps to the character at the same index of `meanings`
  size_t simple = letters.find(c);
  size_t wanted = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  auto number = [&](size_t from, size_t length, int base) {
    // reads up to `length` digits; fewer are accepted
    uint32_t code = 0;
    const char *begin = text_.data() + std::min(pos_ + from, text_.size());
    const char *end = text_.data() + std::min(pos_ + from + length, text_.size());
    auto result = std::from_chars(begin, end, code, base);
    append_utf8(value, code);
    pos_ += from + static_cast<size_t>(result.ptr - begin);
  };
  if (!raw && wanted) return number(2, wanted, 16);
  if (!raw && c >= '0' && c <= '7') return number(1, 3, 8);
  if (!raw && simple != std::string_view::npos) {
    value += meanings[simple];
  } else if (raw || c != '\n') {
    value += '\\';
    value += c;
  }
  pos_ += 2;
}

/// Reads a string with its prefix and quotes. F-strings and bytes are read in the same way, so that the
/// parser can refuse them as a whole.
void Lexer::string() {
  size_t begin = pos_;
  bool raw = false;
  TokenKind kind = TokenKind::string;
  for (; at() != '"' && at() != '\''; ++pos_) {
    char p = static_cast<char>(at() | 0x20);
    raw |= p == 'r';
    if (p == 'f' || p == 't') kind = TokenKind::fstring;
    if (p == 'b') kind = TokenKind::bytes;
  }
  char quote = at();
  bool triple = at(1) == quote && at(2) == quote;
  pos_ += triple ? 3 : 1;
  std::string value;
  for (;;) {
    // only a string in triple quotes spans lines
    if (pos_ >= text_.size() || (!triple && at() == '\n')) fail(begin, "unterminated string literal");
    // tested before the quote, because an escaped quote ends no string, not even a raw one
    if (at() == '\\' && pos_ + 1 < text_.size()) {
      escape(value, raw);
    } else if (at() == quote && (!triple || (at(1) == quote && at(2) == quote))) {
      pos_ += triple ? 3 : 1;
      break;
    } else {
      value += at();
      ++pos_;
    }
  }
  emit(kind, begin, std::move(value));
}

/// Reads an operator or a bracket. Brackets are matched here, because an open one joins lines.
void Lexer::op() {
  // longest first, because the first match is taken
  static constexpr std::array<std::string_view, 25> longer = {
      "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==", "!=",
      "->",  "+=",  "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "@=", ":=", "<>"};
  size_t begin = pos_;
  for (std::string_view candidate : longer) {
    if (!starts_with(text_.substr(pos_), candidate)) continue;
    pos_ += candidate.size();
    return emit(TokenKind::op, begin);
  }
  char c = at();
  if (std::string_view("+-*/%@&|^~<>()[]{},:.;=!").find(c) == std::string_view::npos) {
    ++pos_;
    fail(begin, cat("invalid character '",
                    c >= ' ' ? std::string(1, c) : hex_text(static_cast<unsigned char>(c)), "'"));
  }
  ++pos_;
  if (c == '(' || c == '[' || c == '{') {
    if (brackets_.size() >= (out_.ir_mode ? max_ir_brackets : max_brackets))
      fail(begin, "too many nested parentheses");
    brackets_.push_back(c);
  } else if (c == ')' || c == ']' || c == '}') {
    char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (brackets_.empty() || brackets_.back() != open) fail(begin, cat("unmatched '", c, "'"));
    brackets_.pop_back();
  }
  emit(TokenKind::op, begin);
}

/// Reads one token. Strings are tried before names, because their prefix looks like a name: rb"x" is one
/// token.
void Lexer::token() {
  size_t begin = pos_;
  char c = at();
  if (is_digit(c) || (c == '.' && is_digit(at(1)))) return number();
  if (string_prefix(0) || string_prefix(1) || string_prefix(2)) return string();
  if (!is_name_start(c)) return op();
  while (is_name_char(at())) ++pos_;
  emit(TokenKind::name, begin);
}

/// Reads the tokens of one logical line, whose indentation is already read.
void Lexer::logical_line() {
  for (;;) {
    skip_blank();
    if (pos_ >= text_.size() || at() == '\n') break;
    token();
  }
  if (pos_ >= text_.size() && !brackets_.empty())
    fail(text_.size(), cat("'", brackets_.back(), "' was never closed"));
  // the end of the text ends the line as a newline does
  emit(TokenKind::newline, pos_);
  if (pos_ < text_.size()) ++pos_;
}

TokenList Lexer::run() {
  // skips the byte order mark of UTF-8
  if (starts_with(text_, "\xEF\xBB\xBF")) pos_ = 3;
  out_.ir_mode = starts_with(text_, "# kw-ir 2");
  while (start_line()) logical_line();
  // the end of the text closes the open blocks, so indents and dedents always balance
  for (; indents_.size() > 1; indents_.pop_back()) emit(TokenKind::dedent, pos_);
  emit(TokenKind::end, pos_);
  return std::move(out_);
}

/// Reads only the definition, so that errors in the rest of a file do not matter. Comments and blank lines
/// after the block are excluded.
size_t Lexer::definition_end() {
  size_t end = 0;
  bool header_seen = false;
  while (start_line()) {
    // a line with the indentation of the header is after the block
    if (header_seen && indents_.size() == 1) break;
    size_t first = out_.tokens.size();
    logical_line();
    // decorators have the same indentation and precede the header
    header_seen |= !out_.tokens[first].is("@");
    end = pos_;
  }
  return end;
}

}  // namespace

/// Throws E122 for a text that is too long. Counts characters as Python does; printed IR has no limit.
static void check_length(std::string_view text) {
  if (text.size() <= max_text || starts_with(text, "# kw-ir 2")) return;
  // a byte 10xxxxxx continues a character of UTF-8
  auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  auto length = static_cast<size_t>(std::count_if(text.begin(), text.end(), begins));
  if (length > max_text)
    throw CompileError(
        Diagnostic{Code::E122,
                   {},
                   cat("the text has ", length, " characters, and a kernel has at most ", max_text),
                   {},
                   {"split the kernel"}});
}

TokenList tokenize(const SourceMap &sources, uint32_t source) {
  check_length(sources.text(source));
  return Lexer(sources.text(source), source).run();
}

uint32_t definition_lines(std::string_view text) {
  size_t end = Lexer(text, 0).definition_end();
  // a last line without a newline counts as well
  return static_cast<uint32_t>(
             std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n')) +
         (end == text.size() && !text.ends_with('\n') ? 1 : 0);
}

}  // namespace kw
