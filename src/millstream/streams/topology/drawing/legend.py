"""The legend of a drawing: the meaning of shapes and colours, in one row below it."""

from __future__ import annotations

from typing import Final

from millstream.streams.topology.drawing.layers import Place
from millstream.streams.topology.drawing.shapes import drum, rectangle, text

_STEP: Final = 190.0
_SAMPLE: Final = 34.0
_MEANINGS: Final = (
    "topic, read or written",
    "operator or processor",
    "state store",
    "uses the same store",
    "by way of that topic",
)
LEGEND_WIDTH: Final = _STEP * len(_MEANINGS)


def legend(left: float, top: float) -> list[str]:
    """Returns the row; `top` is the height at which its samples stand."""
    middle = top + 10
    columns = [left + _STEP * number for number in range(len(_MEANINGS))]
    samples = [
        rectangle("source", Place(columns[0], top, _SAMPLE, 20), 10),
        rectangle("processor", Place(columns[1], top, _SAMPLE, 20), 6),
        drum("", Place(columns[2], top - 1, _SAMPLE, 22)),
        _line("shared", columns[3], middle),
        _line("link", columns[4], middle),
    ]
    words = [
        text(column + _SAMPLE + 8, middle + 4, meaning, "meaning")
        for column, meaning in zip(columns, _MEANINGS, strict=True)
    ]
    return ['<g class="legend">', *samples, *words, "</g>"]


def _line(kind: str, x: float, y: float) -> str:
    return f'<path class="{kind}" d="M{x:.1f} {y:.1f}H{x + _SAMPLE:.1f}"/>'
