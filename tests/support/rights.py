"""The tables of docs/guide/rights.md, as rules for a user: what each kind of application may do, and what it says where it lacks one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from millstream.clients.admin import AclBinding, Operation, ResourceType
from tests.compat.permissions.users import Allowed

CLUSTER: Final = "kafka-cluster"
GUIDE: Final = (Path(__file__).parents[2] / "docs/guide/rights.md").read_text()
_ROW: Final = re.compile(
    r"\| (?P<operation>\w+) \| (?P<type>[a-z ]+?)s?(?P<prefix> that begin with)? `(?P<name>[^`]+)` \| (?P<without>.*) ?\|"
)
_TYPES: Final[Mapping[str, ResourceType]] = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.CLUSTER,
}


@dataclass(frozen=True)
class Right:
    """A row of a table. `without`: what its last column says."""

    operation: Operation
    resource_type: ResourceType
    name: str
    is_prefix: bool
    without: str = ""

    def __str__(self) -> str:
        kind = self.resource_type.name.lower()
        return f"{self.operation.name.lower()}-{kind}-{self.name}{'*' if self.is_prefix else ''}"

    @property
    def may_be_missed(self) -> bool:
        """Whether the application goes on without it."""
        return self.without.startswith("goes on")

    def renamed(self, name: str) -> Right:
        return replace(self, name=name)

    def rule(self, user: str) -> AclBinding:
        return Allowed(self.resource_type, self.name, self.operation, self.is_prefix).rule(user)


def _operation(word: str) -> Operation:
    """By its name in Kafka's tools, as DescribeConfigs."""
    return Operation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).upper()]


def section(kind: str) -> str:
    """The text below a heading, up to the next one."""
    (text,) = re.findall(
        rf"^### {re.escape(kind)}\n(.*?)(?=^#|\Z)", GUIDE, re.DOTALL | re.MULTILINE
    )
    return str(text)


def rights(kind: str) -> tuple[Right, ...]:
    """Those of the table below a heading."""
    found = [_ROW.fullmatch(line) for line in section(kind).splitlines() if line.startswith("| ")]
    rows = found[1:]  # the first one is the heading of the columns
    assert rows
    assert all(rows), f"a row of {kind} is not understood"
    return tuple(_right(row) for row in rows if row is not None)


def _right(row: re.Match[str]) -> Right:
    return Right(
        _operation(row["operation"]),
        _TYPES[row["type"]],
        row["name"],
        row["prefix"] is not None,
        row["without"].strip(),
    )


def commands(kind: str) -> list[str]:
    """Those below a heading, which allow `alice` what is in the table."""
    (block,) = re.findall(r"```sh\n(.*?)```", section(kind), re.DOTALL)
    return str(block).splitlines()


def of_application(
    table: Iterable[Right], application: str, sources: Collection[str], sinks: Collection[str]
) -> list[Right]:
    """The rights of the guide's application `counting`, which reads `clicks` and writes `counts`, for another one."""
    found: list[Right] = []
    for right in table:
        names = {"clicks": sources, "counts": sinks}.get(
            right.name, [right.name.replace("counting", application)]
        )
        found += [right.renamed(name) for name in names]
    return found
