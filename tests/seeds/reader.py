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


def program(number: str, contains: str) -> str | None:
    """The first Python block of a document that contains a text, or None where the folder is absent."""
    text = document(number)
    return next((b for b in code_blocks(text) if contains in b), None) if text else None


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
