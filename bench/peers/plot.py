"""Figures as bars in an SVG, written by hand: a panel for each figure, a bar for each name.

It does not know what the figures mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

WIDTH, LABELS, BAR, GAP, HEAD = 320, 150, 18, 6, 34
COLUMNS = 2
OURS, THEIRS = "#1f6f8b", "#b8c4cc"


def bars(panels: Mapping[str, Mapping[str, float]], first: str) -> str:
    """The panels two abreast; the bars of `first`, and of what is named after it, stand out."""
    tall = HEAD + max(map(len, panels.values())) * (BAR + GAP) + GAP
    wide = LABELS + WIDTH + 80
    rows = -(-len(panels) // COLUMNS)
    drawn = [
        _panel(title, values, first, at % COLUMNS * wide, at // COLUMNS * tall)
        for at, (title, values) in enumerate(panels.items())
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * wide}" height="{rows * tall}" '
        'font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *drawn, "</svg>\n"])


def _panel(title: str, values: Mapping[str, float], first: str, left: int, top: int) -> str:
    most = max(values.values()) or 1.0
    lines = [f'<text x="{left + 10}" y="{top + 22}" font-weight="bold">{escape(title)}</text>']
    for at, (name, value) in enumerate(values.items()):
        y = top + HEAD + at * (BAR + GAP)
        long = WIDTH * value / most
        colour = OURS if name.startswith(first) else THEIRS
        lines += [
            f'<text x="{left + LABELS - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{left + LABELS}" y="{y}" width="{long:.1f}" height="{BAR}" '
            f'fill="{colour}"/>',
            f'<text x="{left + LABELS + long + 6:.1f}" y="{y + 14}">{value:,.1f}</text>',
        ]
    return "\n".join(lines)
