"""Places for the boxes of one sub-topology: columns from left to right, few crossings, short arrows.

The usual way (Sugiyama, Tagawa, Toda 1981): every box gets a column behind its parents, arrows over several columns get
a place in each of them, columns are ordered by the means of their neighbours, and rows are moved towards these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from millstream.streams.topology.drawing.boxes import Box, SubtopologyBox

COLUMN_GAP: Final = 46.0
ROW_GAP: Final = 18.0
_SWEEPS: Final = 6
_BEND_HEIGHT: Final = 4.0
"""Of the places that arrows pass through."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """The upper left corner of a box, without its stores' height in `height`."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """`arrows` are the points that each arrow passes, from the right side of a box to the left side of another."""

    places: Mapping[str, Place]
    arrows: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def lay_out(group: SubtopologyBox) -> Layout:
    columns = _columns(group)
    chains, grid = _grid(group, columns)
    _order(grid, chains)
    boxes = {box.name: box for box in group.boxes}
    centres = _rows(grid, chains, boxes)
    return _layout(group, grid, chains, centres)


def _columns(group: SubtopologyBox) -> dict[str, int]:
    """The longest way from a source; sources stand right before the first of their children.

    Sinks whose topics are read again stand in the last column, so that the links from them cross no box.
    """
    children: dict[str, list[str]] = {box.name: [] for box in group.boxes}
    parents: dict[str, int] = dict.fromkeys(children, 0)
    for parent, child in group.arrows:
        children[parent].append(child)
        parents[child] += 1
    column = dict.fromkeys(children, 0)
    ready = [name for name, count in parents.items() if count == 0]
    roots = list(ready)
    while ready:
        name = ready.pop()
        for child in children[name]:
            column[child] = max(column[child], column[name] + 1)
            parents[child] -= 1
            if parents[child] == 0:
                ready.append(child)
    for root in roots:
        if children[root]:
            column[root] = min(column[child] for child in children[root]) - 1
    last = max(column.values(), default=0)
    column.update({box.name: last for box in group.boxes if box.is_read_again})
    first = min(column.values(), default=0)
    return {name: at - first for name, at in column.items()}


def _grid(
    group: SubtopologyBox, columns: Mapping[str, int]
) -> tuple[list[tuple[str, ...]], list[list[str]]]:
    """Each arrow as the chain of items it passes, and the items of each column."""
    grid: list[list[str]] = [[] for _ in range(max(columns.values(), default=0) + 1)]
    for box in group.boxes:
        grid[columns[box.name]].append(box.name)
    chains = []
    for parent, child in group.arrows:
        bends = []
        for at in range(columns[parent] + 1, columns[child]):
            bend = f"{parent} → {child} at {at}"
            grid[at].append(bend)
            bends.append(bend)
        chains.append((parent, *bends, child))
    return chains, grid


def _neighbours(chains: Iterable[tuple[str, ...]]) -> tuple[dict[str, list[str]], ...]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for chain in chains:
        for left, right in pairwise(chain):
            after.setdefault(left, []).append(right)
            before.setdefault(right, []).append(left)
    return before, after


def _order(grid: list[list[str]], chains: Sequence[tuple[str, ...]]) -> None:
    """Sorts each column by the mean rank of its items' neighbours, forth and back."""
    before, after = _neighbours(chains)
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        neighbours = before if forth else after
        for fixed, moved in pairwise(grid if forth else list(reversed(grid))):
            rank = {item: float(at) for at, item in enumerate(fixed)}
            wanted = {
                item: _mean(neighbours.get(item, ()), rank, float(at))
                for at, item in enumerate(moved)
            }
            moved.sort(key=wanted.__getitem__)


def _mean(items: Sequence[str], at: Mapping[str, float], otherwise: float) -> float:
    known = [at[item] for item in items if item in at]
    return sum(known) / len(known) if known else otherwise


def _rows(
    grid: Sequence[Sequence[str]],
    chains: Sequence[tuple[str, ...]],
    boxes: Mapping[str, Box],
) -> dict[str, float]:
    """The vertical centre of each item's body."""
    above, below = {}, {}
    for column in grid:
        for item in column:
            body = boxes[item].body_height if item in boxes else _BEND_HEIGHT
            above[item] = body / 2
            below[item] = (boxes[item].height if item in boxes else _BEND_HEIGHT) - body / 2
    centre: dict[str, float] = {}
    for column in grid:
        centre.update(_packed(column, dict.fromkeys(column, 0.0), above, below))
    before, after = _neighbours(chains)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for column in grid if sweep % 2 == 0 else reversed(grid):
            wanted = {
                item: _mean(neighbours.get(item, ()), centre, centre[item]) for item in column
            }
            centre.update(_packed(column, wanted, above, below))
    top = min((centre[item] - above[item] for item in centre), default=0.0)
    return {item: at - top for item, at in centre.items()}


def _packed(
    column: Sequence[str],
    wanted: Mapping[str, float],
    above: Mapping[str, float],
    below: Mapping[str, float],
) -> dict[str, float]:
    """Centres as near to the wanted ones as order and gaps permit (pool adjacent violators)."""
    offset = 0.0
    offsets = []
    for at, item in enumerate(column):
        if at:
            offset += below[column[at - 1]] + ROW_GAP + above[item]
        offsets.append(offset)
    pools: list[tuple[float, int]] = []
    for item, shift in zip(column, offsets, strict=True):
        mean, count = wanted[item] - shift, 1
        while pools and pools[-1][0] > mean:
            earlier, members = pools.pop()
            mean = (earlier * members + mean * count) / (members + count)
            count += members
        pools.append((mean, count))
    bases = [mean for mean, count in pools for _ in range(count)]
    return {item: base + shift for item, base, shift in zip(column, bases, offsets, strict=True)}


def _layout(
    group: SubtopologyBox,
    grid: Sequence[Sequence[str]],
    chains: Sequence[tuple[str, ...]],
    centres: Mapping[str, float],
) -> Layout:
    boxes = {box.name: box for box in group.boxes}
    places: dict[str, Place] = {}
    bends: dict[str, tuple[Point, Point]] = {}
    x = 0.0
    for column in grid:
        width = max((boxes[item].width for item in column if item in boxes), default=0.0)
        for item in column:
            if item in boxes:
                box = boxes[item]
                left = x + (width - box.width) / 2
                top = centres[item] - box.body_height / 2
                places[item] = Place(left, top, box.width, box.body_height)
            else:
                bends[item] = ((x, centres[item]), (x + width, centres[item]))
        x += width + COLUMN_GAP
    arrows = tuple(_points(chain, places, bends) for chain in chains)
    height = max((place.y + boxes[name].height for name, place in places.items()), default=0.0)
    height = max(height, *(at + _BEND_HEIGHT for at in centres.values()), 0.0)
    return Layout(places, arrows, max(0.0, x - COLUMN_GAP), height)


def _points(
    chain: Sequence[str],
    places: Mapping[str, Place],
    bends: Mapping[str, tuple[Point, Point]],
) -> tuple[Point, ...]:
    start, end = places[chain[0]], places[chain[-1]]
    points = [(start.x + start.width, start.y + start.height / 2)]
    for bend in chain[1:-1]:
        points += bends[bend]
    points.append((end.x, end.y + end.height / 2))
    return tuple(points)
