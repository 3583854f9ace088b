"""The notation of our message tables, and what it means: text in, `MessageSchema` out.

Owns the grammar of codegen/schemas/*.txt, which every generated module also carries as `SCHEMA`. Used by the code
generator, by the search for the broken field of a malformed message (`diagnosis`) and by tests; never while a healthy
message is read or written. Must not know how bytes are laid out.

    request ListOffsetsRequest key=2 versions=1-11 flexible=6+ listeners=broker
      isolationLevel        int8                    2+
      topics                []ListOffsetsTopic
        name                string

A line that starts at the margin opens a message: kind, name, then `key=` (API key or record type), `versions=`,
`flexible=` (first flexible version), `listeners=`, `unstable=`. An indented line is a field: name, type (`[]` = array),
then in any order
    2+ or 4-12 or 6     the versions that have the field; absent: all versions its struct is used in
    nullable            null is allowed, `nullable=7+` in these versions only
    tag=3               a tagged field
    default=-1          JSON; absent: 0, false, "", empty, the zero uuid, a struct of defaults
    ignorable           a writer drops the value in versions without the field; absent: refuses to
    legacy              keeps the encoding of old versions in flexible ones (client id of the request header)
The fields of a struct stand indented below the first field that uses it. `#` starts a comment line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

INTEGERS: Final = {
    "int8": range(-(1 << 7), 1 << 7),
    "int16": range(-(1 << 15), 1 << 15),
    "uint16": range(1 << 16),
    "int32": range(-(1 << 31), 1 << 31),
    "uint32": range(1 << 32),
    "int64": range(-(1 << 63), 1 << 63),
}
WIDTHS: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
"""Bytes of the types of fixed width."""
SCALARS: Final = frozenset({*WIDTHS, "string", "bytes", "records"})
_SPELLING: Final = {"kRaft": "kraft", "KRaft": "Kraft", "enable2Pc": "enable_2pc"}
Default = int | float | str | bool | None


class SchemaError(ValueError):
    """A table that does not follow the notation; names the line."""


@cache
def snake_case(name: str) -> str:
    """Turns a name like `logStartOffset` into `log_start_offset`."""
    for kafka, ours in _SPELLING.items():
        name = name.replace(kafka, ours)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions from `lowest` to `highest`, both included."""

    lowest: int
    highest: int

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def union(self, other: VersionRange) -> VersionRange:
        return VersionRange(min(self.lowest, other.lowest), max(self.highest, other.highest))

    def intersection(self, other: VersionRange) -> VersionRange:
        return VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `type` is the element's type for arrays; `struct` is set when that is no scalar."""

    name: str
    type: str
    is_array: bool
    versions: VersionRange
    nullable: VersionRange | None
    tag: int | None
    default: Default
    has_default: bool
    ignorable: bool
    legacy: bool
    struct: Struct | None

    @property
    def attribute(self) -> str:
        """The name of the field in the dataclass."""
        return snake_case(self.name)

    @property
    def is_single_struct(self) -> bool:
        return self.struct is not None and not self.is_array


@dataclass(frozen=True, slots=True)
class Struct:
    """A named group of fields. `versions` covers every place of the message that uses it."""

    name: str
    versions: VersionRange
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """One message. `root` holds its fields; `flexible_from` is None without flexible versions."""

    kind: str
    name: str
    key: int | None
    versions: VersionRange
    flexible_from: int | None
    listeners: tuple[str, ...]
    unstable_from: int | None
    root: Struct

    def is_flexible(self, version: int) -> bool:
        return self.flexible_from is not None and version >= self.flexible_from


@dataclass(slots=True)
class _Line:
    """One field line, and the lines indented below it."""

    name: str
    type: str
    words: list[str]
    children: list[_Line] = field(default_factory=list)

    @property
    def element(self) -> str:
        return self.type.removeprefix("[]")


def parse_schemas(text: str) -> list[MessageSchema]:
    """Parses every message of a table. Raises SchemaError."""
    messages: list[MessageSchema] = []
    block: list[str] = []
    for line in [*text.splitlines(), "end"]:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith(" ") and block:
            messages.append(_parse_message(block))
            block = []
        block.append(line)
    return messages


def parse_range(text: str, within: VersionRange) -> VersionRange:
    """Reads a range such as `4-12`, `6` or `2+` (up to the end of `within`)."""
    low, dash, high = text.partition("-")
    if low.endswith("+"):
        return VersionRange(int(low[:-1]), within.highest)
    return VersionRange(int(low), int(high) if dash else int(low))


def _parse_message(block: list[str]) -> MessageSchema:
    kind, name, *words = block[0].split()
    options = dict(word.split("=", 1) for word in words)
    versions = parse_range(options["versions"], VersionRange(0, 0))
    lines = _tree(block[1:])
    flexible, unstable = options.get("flexible"), options.get("unstable")
    return MessageSchema(
        kind=kind,
        name=name,
        key=int(options["key"]) if "key" in options else None,
        versions=versions,
        flexible_from=parse_range(flexible, versions).lowest if flexible else None,
        listeners=tuple(filter(None, options.get("listeners", "").split(","))),
        unstable_from=parse_range(unstable, versions).lowest if unstable else None,
        root=_Resolver(lines, versions).root(name),
    )


def _tree(lines: list[str]) -> list[_Line]:
    """Field lines nested by their indentation, two spaces a level."""
    top: list[_Line] = []
    levels: list[list[_Line]] = [top]
    for text in lines:
        depth = (len(text) - len(text.lstrip(" "))) // 2
        words = text.split()
        if len(words) < 2 or not 1 <= depth <= len(levels):
            raise SchemaError(f"not a field line (name, type, two spaces a level): {text!r}")
        line = _Line(words[0], words[1], words[2:])
        del levels[depth:]
        levels[-1].append(line)
        levels.append(line.children)
    return top


class _Resolver:
    """Turns lines into fields: finds where each struct is used, then cuts every range to that."""

    def __init__(self, lines: list[_Line], versions: VersionRange) -> None:
        self._lines = lines
        self._versions = versions
        self._members: dict[str, list[_Line]] = {}
        self._usage: dict[str, VersionRange] = {}
        self._structs: dict[str, Struct] = {}
        self._find_structs(lines)
        self._find_usage(lines, versions)

    def root(self, name: str) -> Struct:
        fields = tuple(self._field(line, self._versions) for line in self._lines)
        return Struct(name, self._versions, fields)

    def _find_structs(self, lines: list[_Line]) -> None:
        for line in lines:
            if line.children and line.element not in SCALARS:
                self._members.setdefault(line.element, line.children)
                self._find_structs(line.children)

    def _find_usage(self, lines: list[_Line], parent: VersionRange) -> None:
        for line in lines:
            if line.element in SCALARS:
                continue
            if line.element not in self._members:
                raise SchemaError(
                    f"type {line.type} of field {line.name} is neither scalar nor defined"
                )
            used = self._versions_of(line, parent)
            known = self._usage.get(line.element)
            self._usage[line.element] = used if known is None else known.union(used)
            self._find_usage(self._members[line.element], used)

    def _versions_of(self, line: _Line, parent: VersionRange) -> VersionRange:
        for word in line.words:
            if word[0].isdigit():
                return parse_range(word, self._versions).intersection(parent)
        return parent

    def _field(self, line: _Line, parent: VersionRange) -> Field:
        versions = self._versions_of(line, parent)
        options = dict(word.partition("=")[::2] for word in line.words)
        nullable = None
        if "nullable" in options:
            nullable = (
                parse_range(options["nullable"], self._versions)
                if options["nullable"]
                else versions
            )
        return Field(
            name=line.name,
            type=line.element,
            is_array=line.type.startswith("[]"),
            versions=versions,
            nullable=nullable,
            tag=int(options["tag"]) if "tag" in options else None,
            default=json.loads(options["default"]) if "default" in options else None,
            has_default="default" in options,
            ignorable="ignorable" in options,
            legacy="legacy" in options,
            struct=None if line.element in SCALARS else self._struct(line.element),
        )

    def _struct(self, name: str) -> Struct:
        if name not in self._structs:
            usage = self._usage[name]
            fields = tuple(self._field(line, usage) for line in self._members[name])
            self._structs[name] = Struct(name, usage, fields)
        return self._structs[name]
