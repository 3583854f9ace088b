"""The picture with a time axis: event time runs to the right, processing order runs down.

Each record that goes in is a point on a line of its own, each result a line below it: a span where its key has a
window, a point otherwise. Records of a stream-stream join show how far they reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from millstream.streams.serdes import Windowed
from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.testing.streams.timeline.steps import Step, TimelineRecord

_TICK_COLUMNS = 10
_AXIS_COLUMNS_MIN = 10
_COLUMNS_PER_MS_MAX = 4

JoinWindow = tuple[int, int]
"""How many milliseconds before and after a record its partners may be."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Columns of the picture: `columns` of them for every `ms` milliseconds from `start` to `end`."""

    start: int
    end: int
    columns: int
    ms: int

    def at(self, time: int) -> int:
        """The column of a time; what lies outside is at the edge."""
        return (min(max(time, self.start), self.end) - self.start) * self.columns // self.ms

    @property
    def tick_ms(self) -> int:
        """Time between two labels: the smallest round number that leaves room for a label."""
        room = max(_TICK_COLUMNS, len(str(self.end)) + 2)
        return next(d for d in _round_numbers() if d * self.columns // self.ms >= room)


def draw_windows(
    steps: Sequence[Step], join_windows: Mapping[str, JoinWindow], *, closed: bool, width: int
) -> str:
    """Returns lines of at most `width` columns, if that leaves room for an axis.

    `closed`: the end of a window belongs to it.
    """
    rows = list(_labels(steps))
    gutter = max((len(label) for label, _ in rows), default=0) + 2
    axis = _axis(list(_times(steps, join_windows)), max(_AXIS_COLUMNS_MIN, width - gutter - 4))
    lines = [" " * gutter + line for line in _draw_axis(axis)]
    for label, (record, step) in rows:
        drawn = "" if record is None else _draw(record, step, axis, join_windows, closed)
        lines.append(f"{label:<{gutter}}{drawn}".rstrip())
    return "\n".join(lines)


def _labels(steps: Sequence[Step]) -> Iterator[tuple[str, tuple[TimelineRecord | None, Step]]]:
    for step in steps:
        if isinstance(step.cause, TimelineRecord):
            yield f"{step.cause.topic}  {step.cause.text}", (step.cause, step)
        else:
            yield f"clock +{step.cause}", (None, step)
        for result in step.results:
            yield f"  {result.topic}  {step.result_text(result)}", (result, step)


def _times(steps: Sequence[Step], join_windows: Mapping[str, JoinWindow]) -> Iterator[int]:
    """Every time that the axis must show."""
    for step in steps:
        causes = [step.cause] if isinstance(step.cause, TimelineRecord) else []
        for each in (*causes, *step.results):
            before, after = join_windows.get(each.topic, (0, 0))
            yield from (max(0, each.timestamp - before), each.timestamp + after)
            if isinstance(each.key, Windowed):
                yield each.key.start_ms
                if each.key.end_ms < MAX_TIMESTAMP:
                    yield each.key.end_ms


def _axis(times: list[int], width: int) -> _Axis:
    """As many columns as fit, by a round scale; from 0 unless that would be mostly empty."""
    start, end = min(times, default=0), max(times, default=0)
    if start <= end - start:
        start = 0
    for columns in range(_COLUMNS_PER_MS_MAX, 0, -1):
        if (end - start) * columns <= width:
            return _Axis(start, end, columns, 1)
    return _Axis(start, end, 1, next(ms for ms in _round_numbers() if end - start <= width * ms))


def _round_numbers() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50, ..."""
    scale = 1
    while True:
        yield from (scale, 2 * scale, 5 * scale)
        scale *= 10


def _draw_axis(axis: _Axis) -> tuple[str, str]:
    labels, line = "", ""
    first = -(-axis.start // axis.tick_ms) * axis.tick_ms
    for time in range(first, axis.end + 1, axis.tick_ms):
        labels = labels.ljust(axis.at(time)) + str(time)
        line = line.ljust(axis.at(time), "─") + ("├" if time == axis.start else "┼")
    return labels, line.ljust(axis.at(axis.end) + 1, "─")


def _draw(
    record: TimelineRecord,
    step: Step,
    axis: _Axis,
    join_windows: Mapping[str, JoinWindow],
    closed: bool,
) -> str:
    if record is step.cause:
        return _draw_cause(record, step, axis, join_windows.get(record.topic, (0, 0)))
    if isinstance(record.key, Windowed):
        return _draw_window(record.key, axis, closed, record.value is None)
    return " " * axis.at(record.timestamp) + "◆"


def _draw_cause(cause: TimelineRecord, step: Step, axis: _Axis, window: JoinWindow) -> str:
    """A point, on the stretch of time where its partners in a join may be."""
    first = axis.at(cause.timestamp - window[0])
    at, last = axis.at(cause.timestamp), axis.at(cause.timestamp + window[1])
    before = "├".ljust(at - first, "─") if first < at else ""
    after = "┤".rjust(last - at, "─") if at < last else ""
    return " " * first + before + ("✗" if step.is_dropped else "●") + after


def _draw_window(window: Windowed[object], axis: _Axis, closed: bool, is_gone: bool) -> str:
    """One without an end goes beyond the axis; one of a single moment, or narrower than a column, is a stroke."""
    first, last = axis.at(window.start_ms), axis.at(window.end_ms)
    if first == last:
        return " " * first + "|"
    end = "→" if window.end_ms > axis.end else "]" if closed else ")"
    return " " * first + "[".ljust(last - first, "┄" if is_gone else "─") + end
