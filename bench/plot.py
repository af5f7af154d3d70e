"""A bar for each target as SVG: its worst figure over its bound, on a logarithmic scale."""

from __future__ import annotations

import html
import math

WIDTH, LABEL, LINE, TOP = 900, 430, 20, 30
REACH = 8.0  # times the bound at the ends


def _place(share: float) -> float:
    """The horizontal place of a share of the bound; 1 is in the middle."""
    at = math.log(min(max(share, 1 / REACH), REACH)) / math.log(REACH)
    return LABEL + (WIDTH - LABEL) * (at + 1) / 2


def bars(shares: list[tuple[str, float]]) -> str:
    middle, height = _place(1), TOP + LINE * len(shares) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{middle:.0f}" y="18" text-anchor="middle">worst figure over its bound: right of the line'
        " it holds</text>",
    ]
    for i, (what, share) in enumerate(shares):
        y, end = TOP + LINE * i, _place(share)
        colour = "#4a8" if share >= 1 else "#c54"
        out += [
            f'<text x="{LABEL - 8}" y="{y + 13}" text-anchor="end">{html.escape(what)}</text>',
            f'<rect x="{min(middle, end):.1f}" y="{y + 2}" width="{max(abs(end - middle), 1):.1f}"'
            f' height="{LINE - 6}" fill="{colour}"/>',
            f'<text x="{WIDTH - 4}" y="{y + 13}" text-anchor="end" fill="#555">{share:.2f}</text>',
        ]
    out.append(f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{TOP - 4}" y2="{height}" stroke="black"/>')
    return "\n".join([*out, "</svg>", ""])
