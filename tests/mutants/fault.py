"""A fault of the mutation check: a text that stands once in a file, and what replaces it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """`breaks` tells in a phrase what goes wrong, and for which kernels only."""

    name: str
    path: str
    old: str
    new: str
    breaks: str

    def applied(self, text: str) -> str:
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: its text stands {count} times in {self.path}; renew the fault")
        return text.replace(self.old, self.new)
