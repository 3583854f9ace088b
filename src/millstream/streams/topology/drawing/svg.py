"""Draws a topology: sub-topologies one below the other, topics as pills, stores as drums, topics between them as links.

The text of an SVG file, complete in itself. Owns where everything stands; how it looks is in `shapes`.
"""

from __future__ import annotations

from collections import Counter
from typing import Final
from xml.sax.saxutils import escape

from millstream.streams.topology.drawing.boxes import (
    LINE_HEIGHT,
    PADDING,
    STORE_GAP,
    STORE_HEIGHT,
    Box,
    BoxKind,
    Scene,
    SubtopologyBox,
    scene_of,
    shortened,
)
from millstream.streams.topology.drawing.layers import Layout, Place, Point, lay_out
from millstream.streams.topology.drawing.shapes import HEADS, STYLE, drum, rectangle, text
from millstream.streams.topology.topology import Topology

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


_MARGIN: Final = 24.0
_GROUP_PADDING: Final = 22.0
_GROUP_TITLE: Final = 26.0
_GROUP_GAP: Final = 26.0
_LANE: Final = 9.0
"""Between links that run side by side, each in a lane of its own."""
_BOW: Final = 34.0
"""How far curves swing out."""
_LEGEND_HEIGHT: Final = 52.0


def to_svg(topology: Topology) -> str:
    """Draws the topology; returns the text of an SVG file."""
    scene = scene_of(topology)
    layouts = [lay_out(group) for group in scene.groups]
    gutter = _MARGIN + _LANE * len(scene.links)
    inner = max((layout.width for layout in layouts), default=0.0) + 2 * _GROUP_PADDING
    gap = _GROUP_GAP + _LANE * _links_into_one_group(scene)
    parts: list[str] = []
    places: dict[str, Place] = {}
    tops: dict[str, float] = {}
    y = gap
    for group, layout in zip(scene.groups, layouts, strict=True):
        origin = (gutter + _GROUP_PADDING, y + _GROUP_TITLE + _GROUP_PADDING / 2)
        height = layout.height + _GROUP_TITLE + 1.5 * _GROUP_PADDING
        parts.append(rectangle("group", Place(gutter, y, inner, height), 10))
        parts.append(text(gutter + _GROUP_PADDING, y + 20, group.title, "heading"))
        parts += _group(group, layout, origin)
        tops |= dict.fromkeys(layout.places, y)
        places |= {name: _moved(place, origin) for name, place in layout.places.items()}
        y += height + gap
    right = gutter + inner
    arrived: Counter[float] = Counter()
    for lane, (sink, source) in enumerate(scene.links, start=1):
        top = tops[source]
        arrived[top] += 1
        sides = (gutter - lane * _LANE, right + lane * _LANE)
        parts.append(_link(places[sink], places[source], sides, top - arrived[top] * _LANE))
    parts += legend(gutter, y - gap + _MARGIN)
    width, height = max(right + gutter, gutter + LEGEND_WIDTH), y - gap + _LEGEND_HEIGHT + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" aria-label="topology">\n'
        f"<style>{STYLE}</style>\n<defs>{HEADS}</defs>\n"
        '<rect class="paper" width="100%" height="100%"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _group(group: SubtopologyBox, layout: Layout, origin: Point) -> list[str]:
    drums: dict[str, Place] = {}
    parts: list[str] = []
    for box in group.boxes:
        place = _moved(layout.places[box.name], origin)
        parts.append(_box(box, place))
        top = place.y + place.height
        for store in box.stores:
            below = Place(
                place.x + (place.width - store.width) / 2,
                top + STORE_GAP,
                store.width,
                STORE_HEIGHT,
            )
            drums[store.name] = below
            parts.append(drum(store.name, below))
            middle = place.x + place.width / 2
            parts.append(f'<path class="shared" d="M{middle:.1f} {top:.1f}V{below.y:.1f}"/>')
            top = below.y + below.height
    arrows = [_arrow([(x + origin[0], y + origin[1]) for x, y in way]) for way in layout.arrows]
    shared = [
        _shared(_moved(layout.places[name], origin), drums[store])
        for name, store in group.shared_stores
    ]
    return arrows + shared + parts  # boxes over lines


def _shared(user: Place, store: Place) -> str:
    """Out of the store's side: to the user's side in the same column, else to its lower edge."""
    store_y = store.y + store.height / 2
    if user.x < store.x + store.width and store.x < user.x + user.width:
        user_y, bow = user.y + user.height / 2, min(user.x, store.x) - _BOW
        way = f"M{store.x:.1f} {store_y:.1f}C{bow:.1f} {store_y:.1f} {bow:.1f} {user_y:.1f} {user.x:.1f} {user_y:.1f}"
    else:
        forth = user.x > store.x
        start = store.x + store.width if forth else store.x
        bend = start + (_BOW if forth else -_BOW)
        end_x, end_y = user.x + user.width / 2, user.y + user.height
        way = f"M{start:.1f} {store_y:.1f}C{bend:.1f} {store_y:.1f} {end_x:.1f} {end_y + _BOW:.1f} {end_x:.1f} {end_y:.1f}"
    return f'<path class="shared" d="{way}"/>'


def _box(box: Box, place: Place) -> str:
    radius = place.height / 2 if box.kind is not BoxKind.PROCESSOR else 6
    middle = place.x + place.width / 2
    line = place.y + PADDING / 2 + LINE_HEIGHT - 3
    lines = [text(middle, line, shortened(box.title), "heading", middle=True)]
    for number, below in enumerate((box.name, *box.notes), start=1):
        lines.append(
            text(middle, line + number * LINE_HEIGHT, shortened(below), "name", middle=True)
        )
    full = escape(f"{box.title} · {box.name}")
    return f"<g><title>{full}</title>{rectangle(box.kind.value, place, radius)}{''.join(lines)}</g>"


def _arrow(points: list[Point]) -> str:
    """Smooth from point to point; the stretch through a column is straight."""
    (x, y), rest = points[0], points[1:]
    way = f"M{x:.1f} {y:.1f}"
    for next_x, next_y in rest:
        bend = (next_x - x) / 2
        if next_y == y:
            way += f"H{next_x:.1f}"
        else:
            way += f"C{x + bend:.1f} {y:.1f} {next_x - bend:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}"
        x, y = next_x, next_y
    return f'<path class="arrow" d="{way}"/>'


def _links_into_one_group(scene: Scene) -> int:
    """The most there are."""
    homes = {box.name: group.id for group in scene.groups for box in group.boxes}
    return max(Counter(homes[source] for _, source in scene.links).values(), default=0)


def _link(sink: Place, source: Place, sides: tuple[float, float], between: float) -> str:
    """From a sink out at the right, through the gap above the source's group, and in at the left."""
    start_x, start_y = sink.x + sink.width, sink.y + sink.height / 2
    end_y = source.y + source.height / 2
    return (
        f'<path class="link" d="M{start_x:.1f} {start_y:.1f}H{sides[1]:.1f}V{between:.1f}H{sides[0]:.1f}'
        f'V{end_y:.1f}H{source.x:.1f}"/>'
    )


def _moved(place: Place, by: Point) -> Place:
    return Place(place.x + by[0], place.y + by[1], place.width, place.height)
