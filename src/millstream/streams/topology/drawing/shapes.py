"""Shapes of a drawing: colours for light and dark, boxes, drums, text, the heads of arrows.

Colours are written out in plain rules, for programs that know no CSS variables; those that know no
dark mode show the light one.
"""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from millstream.streams.topology.drawing.boxes import shortened
from millstream.streams.topology.drawing.layers import Place

_FORMS: Final = """
text { font-family: system-ui, sans-serif; font-size: 12px; }
.name { font-family: ui-monospace, monospace; font-size: 10px; }
.heading { font-weight: 600; }
.arrow, .shared, .link, .lid { fill: none; }
.arrow { stroke-width: 1.4; marker-end: url(#head); }
.shared { stroke-dasharray: 4 3; }
.link { stroke-width: 1.6; marker-end: url(#link-head); }
"""
_COLOURS: Final = (
    (".paper", "fill", "#ffffff", "#16191d"),
    ("text", "fill", "#1f2933", "#e4e7eb"),
    (".name", "fill", "#61707f", "#9aa5b1"),
    (".group", "fill", "#f4f6f8", "#1f242a"),
    (".processor", "fill", "#ffffff", "#16191d"),
    (".group, .processor", "stroke", "#b8c2cc", "#4b5560"),
    (".source, .sink", "fill", "#e3f0fb", "#17324a"),
    (".source, .sink", "stroke", "#4a8fc7", "#5ba3dd"),
    (".store", "fill", "#fdf1d8", "#3b2f14"),
    (".store, .lid, .shared", "stroke", "#c98f1d", "#d9a441"),
    (".arrow", "stroke", "#7b8794", "#8794a1"),
    (".head", "fill", "#7b8794", "#8794a1"),
    (".link", "stroke", "#9b59b6", "#c39bd3"),
    (".link-head", "fill", "#9b59b6", "#c39bd3"),
)
"""Selector, property, its colour in light and in dark."""


def _rules(theme: int) -> str:
    return "\n".join(f"{rule[0]} {{ {rule[1]}: {rule[2 + theme]}; }}" for rule in _COLOURS)


def _head(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        f' orient="auto"><path class="{name}" d="M0 0L8 4L0 8z"/></marker>'
    )


STYLE: Final = f"{_FORMS}{_rules(0)}\n@media (prefers-color-scheme: dark) {{\n{_rules(1)}\n}}\n"
HEADS: Final = _head("head") + _head("link-head")


def rectangle(kind: str, place: Place, radius: float) -> str:
    return (
        f'<rect class="{kind}" x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}"'
        f' height="{place.height:.1f}" rx="{radius:.1f}"/>'
    )


def text(x: float, y: float, words: str, kind: str, *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(words)}</text>'


def drum(name: str, place: Place) -> str:
    """Returns a store."""
    x, y, width, height = place.x, place.y, place.width, place.height
    bow = 5.0
    half = width / 2
    body = (
        f"M{x:.1f} {y + bow:.1f}a{half:.1f} {bow} 0 0 1 {width:.1f} 0v{height - 2 * bow:.1f}"
        f"a{half:.1f} {bow} 0 0 1 {-width:.1f} 0z"
    )
    lid = f"M{x:.1f} {y + bow:.1f}a{half:.1f} {bow} 0 0 0 {width:.1f} 0"
    label = text(x + half, y + height / 2 + 7, shortened(name), "name", middle=True)
    return (
        f"<g><title>{escape(name)}</title>"
        f'<path class="store" d="{body}"/><path class="lid" d="{lid}"/>{label}</g>'
    )
