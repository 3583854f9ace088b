"""How a struct lies on the wire: runs of fixed-width fields, and what stands between them.

A run is one `struct.Struct` per shape: versions that lack some of its fields, or write the length behind it
differently, have a shape of their own. The length or count that opens the next field ends the run, and so does the
count of tagged fields at the end of the struct: they are read in the same stroke.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from codegen.messages.types import FIXED, is_fixed
from millstream.protocol.schema import WIDTHS, Field, MessageSchema, Struct, VersionRange


@dataclass(frozen=True, slots=True)
class Tags:
    """Stands for the tagged fields section where a run asks what follows it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Fixed-width fields in a row; `tail` opens right behind them."""

    fields: tuple[Field, ...]
    tail: Field | Tags | None


@dataclass(frozen=True, slots=True)
class Shape:
    """A run in some versions: which of its fields are there, and the struct code of what the tail opens with."""

    versions: VersionRange
    present: tuple[Field, ...]
    prefix: str
    has_tail: bool

    @property
    def is_compact(self) -> bool:
        """Whether the prefix is the first byte of a uvarint."""
        return self.prefix == "B"

    @property
    def codes(self) -> str:
        return "".join(FIXED[field.type].code for field in self.present) + self.prefix

    @property
    def width(self) -> int:
        prefix = {"": 0, "b": 1, "B": 1, "h": 2, "i": 4}[self.prefix]
        return sum(WIDTHS[field.type] for field in self.present) + prefix


def steps(struct: Struct) -> Iterator[Run | Field]:
    """Runs and the fields between them, in order; a run comes before every other field, even an empty one."""
    pending: list[Field] = []
    for field in struct.fields:
        if field.tag is not None:
            continue
        if is_fixed(field):
            pending.append(field)
            continue
        yield Run(tuple(pending), field)
        yield field
        pending = []
    yield Run(tuple(pending), Tags())


def prefix_code(tail: Field | Tags | None, message: MessageSchema, version: int) -> str:
    """Struct code of the length, count or marker that `tail` opens with in `version`; empty if with none."""
    flexible = message.is_flexible(version)
    if tail is None:
        return ""
    if isinstance(tail, Tags):
        return "B" if flexible else ""
    if version not in tail.versions:
        return ""
    if tail.struct is not None and not tail.is_array:
        return "b" if tail.nullable and version in tail.nullable else ""
    if flexible and not tail.legacy:
        return "B"
    return "h" if tail.type == "string" and not tail.is_array else "i"


def shapes(run: Run, struct: Struct, message: MessageSchema) -> list[Shape]:
    """The run's shapes, newest versions first."""
    found: list[Shape] = []
    for version in reversed(list(struct.versions)):
        shape = Shape(
            versions=VersionRange(version, version),
            present=tuple(field for field in run.fields if version in field.versions),
            prefix=prefix_code(run.tail, message, version),
            has_tail=not isinstance(run.tail, Field) or version in run.tail.versions,
        )
        if found and replace(found[-1], versions=shape.versions) == shape:
            highest = found[-1].versions.highest
            found[-1] = replace(shape, versions=VersionRange(version, highest))
        else:
            found.append(shape)
    return found


def condition(versions: VersionRange, within: VersionRange) -> str:
    """A Python test for `version` given that it lies in `within`; empty when always true."""
    low = versions.lowest > within.lowest
    high = versions.highest < within.highest
    if versions.lowest == versions.highest and low and high:
        return f"version == {versions.lowest}"
    if low and high:
        return f"{versions.lowest} <= version <= {versions.highest}"
    if low:
        return f"version >= {versions.lowest}"
    return f"version <= {versions.highest}" if high else ""


def arms(found: list[Shape], within: VersionRange) -> list[tuple[str, Shape]]:
    """(condition, shape) for an if / elif / else chain; the last condition is empty."""
    tests = []
    remaining = within
    for shape in found:
        tests.append((condition(shape.versions, remaining), shape))
        lowest = remaining.lowest
        remaining = VersionRange(lowest, max(lowest, shape.versions.lowest - 1))
    return tests
