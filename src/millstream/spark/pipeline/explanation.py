"""An application in words: what its tasks read, keep and write, and where they are. Pure: data in, text or HTML out."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from millstream.streams.topology.plan import SubTopologyPlan
from millstream.streams.topology.topology import Topology

Executors = Mapping[tuple[int, int], str]
"""By sub-topology and partition, the executor that has the task open."""


@dataclass(frozen=True, slots=True)
class ExplainedSubTopology:
    """`topics`: what its tasks read and write. `stores` with their changelogs, if they have one.

    `tasks` with the executor of each, if known.

    `copies`: by task, the executors with standbys that are up to date.
    """

    id: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    stores: Mapping[str, str | None]
    tasks: Mapping[str, str | None]
    copies: Mapping[str, Sequence[str]]


def explained(
    topology: Topology,
    application_id: str,
    plans: Sequence[SubTopologyPlan],
    executors: Executors,
    copies: Mapping[tuple[int, int], Sequence[str]],
) -> list[ExplainedSubTopology]:
    """Returns the sub-topologies in the order of the plan."""
    return [
        ExplainedSubTopology(
            id=plan.id,
            reads=plan.sources,
            writes=tuple(
                sorted(topology.topics_of(topology.sub_topologies[plan.id], application_id).sinks)
            ),
            stores={
                spec.name: topology.changelog_topic(spec.name, application_id)
                if spec.logging
                else None
                for spec in topology.stores_of(topology.sub_topologies[plan.id])
            },
            tasks={f"{plan.id}_{n}": executors.get((plan.id, n)) for n in range(plan.tasks)},
            copies={
                f"{plan.id}_{n}": copies[plan.id, n]
                for n in range(plan.tasks)
                if copies.get((plan.id, n))
            },
        )
        for plan in plans
    ]


def as_text(title: str, parts: Sequence[ExplainedSubTopology]) -> str:
    return "\n".join([title, *(line for part in parts for line in _lines(part))])


def as_html(title: str, parts: Sequence[ExplainedSubTopology]) -> str:
    """Returns a table with a row for each sub-topology."""
    heads = ("sub-topology", "reads", "stores", "writes", "tasks")
    cells = [
        (
            str(part.id),
            ", ".join(part.reads),
            ", ".join(part.stores) or "none",
            ", ".join(part.writes) or "nothing",
            ", ".join(_placed(part)),
        )
        for part in parts
    ]
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in cells
    )
    return f"<p>{html.escape(title)}</p><table><tr>{head}</tr>{body}</table>"


def _lines(part: ExplainedSubTopology) -> Iterator[str]:
    yield f"sub-topology {part.id}"
    yield f"  reads   {', '.join(part.reads)}"
    for name, changelog in part.stores.items():
        yield f"  store   {name}, {f'changelog {changelog}' if changelog else 'no changelog'}"
    yield f"  writes  {', '.join(part.writes) or 'nothing'}"
    yield f"  tasks   {', '.join(_placed(part))}"
    for task, executors in part.copies.items():
        yield f"  standby {task} on {', '.join(map(_name, executors))}"


def _placed(part: ExplainedSubTopology) -> list[str]:
    return [
        task if executor is None else f"{task} on {_name(executor)}"
        for task, executor in part.tasks.items()
    ]


def _name(executor: str) -> str:
    return executor.removeprefix("executor_")
