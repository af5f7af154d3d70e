"""Code blocks of the documents that the product comes from, read in place, never copied into the checkout."""

from __future__ import annotations

import re
import sys
from pathlib import Path

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def document(number: str) -> str | None:
    """The text of the document whose name begins with `number`, or None where the folder is absent."""
    found = sorted(SEEDS.glob(f"{number}_*.txt"))
    return found[0].read_text(encoding="utf-8") if found else None


def code_blocks(text: str, language: str = "python") -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def program(number: str, contains: str, language: str = "python") -> str | None:
    """The first block of a document that contains a text, or None where the folder is absent."""
    text = document(number)
    return next((b for b in code_blocks(text, language) if contains in b), None) if text else None


def printed(number: str, after: str) -> str | None:
    """The text block that follows a program: what the document says that it prints."""
    text = document(number)
    if text is None:
        return None
    begin = text.index(after)
    return code_blocks(text[begin:], "text")[0]


def _squeezed(code: str) -> str:
    """Without comments and white space. Comments of a program on one line end where its next word begins."""
    return re.sub(r"\s+", "", re.sub(r"#[^#\n]*?(?=\b(?:def|class|self)\b)", "", code))


def restored_001() -> str | None:
    """The program of document 001, whose line breaks the document lost: they are those of the same program in
    document 002. Raises ValueError when the two differ in more than comments and white space.
    """
    text, layout = document("001"), program("002", "def square_grad")
    if text is None or layout is None:
        return None
    block = text[text.index("```python") + len("```python") :]
    lost = block[: block.index("```")]
    plain = re.sub(r"^\s*#.*\n", "", layout, flags=re.MULTILINE)
    if _squeezed(lost) != _squeezed(plain):
        raise ValueError("documents 001 and 002 show different programs")
    return plain


def extract(folder: Path) -> list[Path]:
    """Writes the programs that the demo shows into a scratch folder; returns their paths."""
    first = program("000", 'func_type="akg"')
    if first is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "test_custom_akg.py"
    path.write_text(first, encoding="utf-8")
    return [path]


if __name__ == "__main__":
    print("\n".join(str(p) for p in extract(Path(sys.argv[1]))))
