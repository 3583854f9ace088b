"""The picture with one lane for each topic: inputs above, results below, one column for each step.

Columns are in the order of processing. Where the lanes are too wide they go on below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.testing.streams.timeline.steps import Step, TimelineRecord

_GAP = 2
_DROPPED = " ✗"
_OUT_OF_ORDER = "←"

Cell = list[str]
"""The lines of one step in one lane."""


def draw_lanes(
    steps: Sequence[Step], inputs: Sequence[str], outputs: Sequence[str], width: int
) -> str:
    """Returns lines of at most `width` columns; `outputs` are topics and stores, in this order."""
    columns = [_column(step, reached, inputs, outputs) for step, reached in _with_times(steps)]
    labels = ["time", *inputs, *outputs]
    gutter = max(map(len, labels))
    bands = _bands(columns, width - gutter - 3)
    return "\n\n".join(_draw_band(band, labels, gutter, 1 + len(inputs)) for band in bands)


def _with_times(steps: Sequence[Step]) -> Iterator[tuple[Step, int]]:
    """Each step with the largest timestamp before it."""
    reached = -1
    for step in steps:
        yield step, reached
        if isinstance(step.cause, TimelineRecord):
            reached = max(reached, step.cause.timestamp)


def _column(step: Step, reached: int, inputs: Sequence[str], outputs: Sequence[str]) -> list[Cell]:
    cause = step.cause
    if not isinstance(cause, TimelineRecord):
        time = f"clock +{cause}"
        cells: list[Cell] = [[] for _ in inputs]
    else:
        time = f"{_OUT_OF_ORDER if cause.timestamp < reached else ''}{cause.timestamp}"
        text = cause.text + (_DROPPED if step.is_dropped else "")
        cells = [[text] if topic == cause.topic else [] for topic in inputs]
    for topic in outputs:
        if topic in step.rows:
            cells.append([row.text for row in step.rows[topic]])
        else:
            cells.append([step.result_text(each) for each in step.results if each.topic == topic])
    return [[time], *cells]


def _width(column: list[Cell]) -> int:
    return max(len(line) for cell in column for line in cell)


def _bands(columns: list[list[Cell]], width: int) -> list[list[list[Cell]]]:
    """The columns, cut into groups that are not too wide."""
    bands: list[list[list[Cell]]] = []
    left = -1
    for column in columns:
        needed = _width(column) + _GAP
        if needed > left:
            bands.append([])
            left = width
        bands[-1].append(column)
        left -= needed
    return bands


def _draw_band(band: list[list[Cell]], labels: Sequence[str], gutter: int, first: int) -> str:
    widths = [_width(column) + _GAP for column in band]
    rule = "─" * (gutter + 1) + "┼" + "─" * (sum(widths) - _GAP + 1)
    lines = []
    for lane, label in enumerate(labels):
        if lane in (1, first):
            lines.append(rule)
        cells = [column[lane] for column in band]
        for line in range(max(1, *map(len, cells))):
            texts = (
                (cell[line] if line < len(cell) else "").ljust(wide)
                for cell, wide in zip(cells, widths, strict=True)
            )
            name = label if line == 0 else ""
            lines.append(f"{name:>{gutter}} │ {''.join(texts)}".rstrip())
    return "\n".join(lines)
