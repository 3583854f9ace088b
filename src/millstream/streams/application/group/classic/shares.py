"""Shares out tasks evenly, leaving as many as it can where they are. Pure.

Owns the rule for one kind of tasks at a time. Who is fit to run a task, and who keeps a
copy of it, is `task_placement`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from millstream.streams.application.group.membership import StreamsTaskId

Owners = Mapping[str, Iterable[StreamsTaskId]]


def share_out(
    tasks: Iterable[StreamsTaskId],
    capacities: Mapping[str, int],
    before: Owners,
    load: Mapping[str, int] | None = None,
    copies: Mapping[StreamsTaskId, Sequence[str]] | None = None,
) -> dict[str, set[StreamsTaskId]]:
    """Returns the tasks of each owner: as many for each capacity, of every sub-topology and in all.

    `before`: the tasks that owners have, or had. `load`: the numbers of tasks that they have besides these. `copies`:
    by task, the owners that are as good for it as who had it, or nearly so, the best ones first: what one has to give
    up goes to such an owner.
    """
    fit = {task: owners for task, owners in (copies or {}).items() if owners}
    had = {task: owner for owner in sorted(before) for task in before[owner]}
    shares: dict[str, set[StreamsTaskId]] = {owner: set() for owner in sorted(capacities)}
    loads = {owner: (load or {}).get(owner, 0) for owner in shares}
    for _, group in groupby(sorted(tasks), key=lambda task: task.sub_topology):
        of_sub_topology = list(group)
        quotas = _quotas(of_sub_topology, capacities, had, loads)
        for task, owner in _kept_or_given(of_sub_topology, quotas, had, fit).items():
            shares[owner].add(task)
            loads[owner] += 1
    return shares


def _quotas(
    tasks: list[StreamsTaskId],
    capacities: Mapping[str, int],
    had: Mapping[StreamsTaskId, str],
    loads: Mapping[str, int],
) -> dict[str, int]:
    """Returns how many tasks of a sub-topology each owner gets.

    What cannot be divided goes to those with the least, then to those who had it.
    """
    total = sum(capacities.values())
    quotas = {owner: len(tasks) * capacities[owner] // total for owner in sorted(capacities)}
    held = {owner: sum(had.get(task) == owner for task in tasks) for owner in quotas}
    for _ in range(len(tasks) - sum(quotas.values())):
        poorest = min(
            quotas,
            key=lambda owner: (
                (loads[owner] + quotas[owner] + 1) / capacities[owner],
                quotas[owner] - held[owner],
                owner,
            ),
        )
        quotas[poorest] += 1
    return quotas


def _kept_or_given(
    tasks: list[StreamsTaskId],
    quotas: dict[str, int],
    had: Mapping[StreamsTaskId, str],
    fit: Mapping[StreamsTaskId, Sequence[str]],
) -> dict[StreamsTaskId, str]:
    owners: dict[StreamsTaskId, str] = {}

    def give(task: StreamsTaskId, wanted: Iterable[str]) -> None:
        owner = next((each for each in wanted if quotas.get(each, 0) > 0), None)
        if owner is not None:
            owners[task] = owner
            quotas[owner] -= 1

    for task in sorted(tasks, key=lambda task: (task in fit, task)):
        give(task, [had[task]] if task in had else [])
    for task in tasks:
        if task not in owners:
            give(task, fit.get(task, ()))
    for task in tasks:
        if task not in owners:
            give(task, quotas)
    return owners
