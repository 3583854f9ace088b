"""Draws a topology: sub-topologies one below the other, topics as pills, stores as drums, topics between them as links.

The text of an SVG file, complete in itself: no scripts, no fonts to load, light and dark as the reader's system is.
"""

from __future__ import annotations

from collections import Counter
from typing import Final
from xml.sax.saxutils import escape

from millstream.streams.topology.picture.boxes import (
    LINE_HEIGHT,
    PADDING,
    STORE_GAP,
    STORE_HEIGHT,
    Box,
    BoxKind,
    Group,
    Scene,
    Store,
    scene_of,
    shortened,
)
from millstream.streams.topology.picture.layers import Layout, Place, Point, lay_out
from millstream.streams.topology.topology import Topology

_MARGIN: Final = 24.0
_GROUP_PADDING: Final = 22.0
_GROUP_TITLE: Final = 26.0
_GROUP_GAP: Final = 26.0
_LANE: Final = 9.0
"""Between links that run side by side, each in a lane of its own."""
_BOW: Final = 34.0
"""How far curves swing out."""
_STYLE: Final = """
svg { --ink: #1f2933; --soft: #61707f; --paper: #ffffff; --group: #f4f6f8; --edge: #b8c2cc; --line: #7b8794;
      --topic: #e3f0fb; --topic-edge: #4a8fc7; --store: #fdf1d8; --store-edge: #c98f1d; --link: #9b59b6; background: var(--paper); }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e4e7eb; --soft: #9aa5b1; --paper: #16191d; --group: #1f242a; --edge: #4b5560; --line: #8794a1;
        --topic: #17324a; --topic-edge: #5ba3dd; --store: #3b2f14; --store-edge: #d9a441; --link: #c39bd3; } }
text { font-family: system-ui, sans-serif; font-size: 12px; fill: var(--ink); }
.name { font-family: ui-monospace, monospace; font-size: 10px; fill: var(--soft); }
.heading { font-weight: 600; }
.group { fill: var(--group); stroke: var(--edge); }
.processor { fill: var(--paper); stroke: var(--edge); }
.source, .sink { fill: var(--topic); stroke: var(--topic-edge); }
.store { fill: var(--store); stroke: var(--store-edge); }
.arrow { fill: none; stroke: var(--line); stroke-width: 1.4; marker-end: url(#head); }
.shared { fill: none; stroke: var(--store-edge); stroke-dasharray: 4 3; }
.link { fill: none; stroke: var(--link); stroke-width: 1.6; marker-end: url(#link-head); }
"""


def to_svg(topology: Topology) -> str:
    """The picture as the text of an SVG file."""
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
        parts.append(_rectangle("group", Place(gutter, y, inner, height), 10))
        parts.append(_text(gutter + _GROUP_PADDING, y + 20, group.title, "heading"))
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
    width, height = right + gutter, y - gap + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" aria-label="topology">\n'
        f"<style>{_STYLE}</style>\n<defs>{_head('head', '--line')}{_head('link-head', '--link')}</defs>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _group(group: Group, layout: Layout, origin: Point) -> list[str]:
    drums: dict[str, Place] = {}
    parts: list[str] = []
    for box in group.boxes:
        place = _moved(layout.places[box.name], origin)
        parts.append(_box(box, place))
        top = place.y + place.height
        for store in box.stores:
            drum = Place(
                place.x + (place.width - store.width) / 2,
                top + STORE_GAP,
                store.width,
                STORE_HEIGHT,
            )
            drums[store.name] = drum
            parts.append(_drum(store, drum))
            middle = place.x + place.width / 2
            parts.append(f'<path class="shared" d="M{middle:.1f} {top:.1f}V{drum.y:.1f}"/>')
            top = drum.y + drum.height
    arrows = [_arrow([(x + origin[0], y + origin[1]) for x, y in way]) for way in layout.arrows]
    shared = [
        _shared(_moved(layout.places[name], origin), drums[store])
        for name, store in group.shared_stores
    ]
    return arrows + shared + parts  # boxes over lines


def _shared(user: Place, drum: Place) -> str:
    """Out of the drum's side: to the user's side in the same column, else to its lower edge."""
    drum_y = drum.y + drum.height / 2
    if user.x < drum.x + drum.width and drum.x < user.x + user.width:
        user_y, bow = user.y + user.height / 2, min(user.x, drum.x) - _BOW
        way = f"M{drum.x:.1f} {drum_y:.1f}C{bow:.1f} {drum_y:.1f} {bow:.1f} {user_y:.1f} {user.x:.1f} {user_y:.1f}"
    else:
        forth = user.x > drum.x
        start = drum.x + drum.width if forth else drum.x
        bend = start + (_BOW if forth else -_BOW)
        end_x, end_y = user.x + user.width / 2, user.y + user.height
        way = f"M{start:.1f} {drum_y:.1f}C{bend:.1f} {drum_y:.1f} {end_x:.1f} {end_y + _BOW:.1f} {end_x:.1f} {end_y:.1f}"
    return f'<path class="shared" d="{way}"/>'


def _box(box: Box, place: Place) -> str:
    radius = place.height / 2 if box.kind is not BoxKind.PROCESSOR else 6
    middle = place.x + place.width / 2
    line = place.y + PADDING / 2 + LINE_HEIGHT - 3
    lines = [_text(middle, line, shortened(box.title), "heading", middle=True)]
    for number, text in enumerate((box.name, *box.notes), start=1):
        lines.append(
            _text(middle, line + number * LINE_HEIGHT, shortened(text), "name", middle=True)
        )
    full = escape(f"{box.title} · {box.name}")
    return (
        f"<g><title>{full}</title>{_rectangle(box.kind.value, place, radius)}{''.join(lines)}</g>"
    )


def _drum(store: Store, place: Place) -> str:
    x, y, width, height = place.x, place.y, place.width, place.height
    bow = 5.0
    half = width / 2
    body = (
        f"M{x:.1f} {y + bow:.1f}a{half:.1f} {bow} 0 0 1 {width:.1f} 0v{height - 2 * bow:.1f}"
        f"a{half:.1f} {bow} 0 0 1 {-width:.1f} 0z"
    )
    lid = f"M{x:.1f} {y + bow:.1f}a{half:.1f} {bow} 0 0 0 {width:.1f} 0"
    label = _text(x + half, y + height / 2 + 7, shortened(store.name), "name", middle=True)
    return (
        f"<g><title>{escape(store.name)}</title>"
        f'<path class="store" d="{body}"/><path class="store" d="{lid}" fill="none"/>{label}</g>'
    )


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


def _rectangle(kind: str, place: Place, radius: float) -> str:
    return (
        f'<rect class="{kind}" x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}"'
        f' height="{place.height:.1f}" rx="{radius:.1f}"/>'
    )


def _text(x: float, y: float, text: str, kind: str, *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(text)}</text>'


def _head(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        f' orient="auto"><path d="M0 0L8 4L0 8z" fill="var({colour})"/></marker>'
    )
