"""Places the tasks of an application on its instances: who runs a task, who keeps a copy, and who warms one up. Pure.

A task whose stores are large goes on where they are until its new place has caught up (KIP-441): meanwhile
the new place has a warm-up copy, and the group shares out anew from time to time. Which thread of an instance
gets them is `group_assignment`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from millstream.streams.application.group.classic.rack_traffic import swap_for_less
from millstream.streams.application.group.classic.shares import share_out
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.config import RackAwareStrategy

TaskRacks = Mapping[StreamsTaskId, Sequence[frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Instance:
    """One process of the group.

    `lags`: by task of which it has state, how many offsets of changelogs that lacks; 0 for what it runs.

    `rack`: where its clients say that they are, if all say the same.

    `awaited`: what is on its way to it. Nobody runs that.
    """

    threads: int
    running: frozenset[StreamsTaskId] = frozenset()
    lags: Mapping[StreamsTaskId, int] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    rack: str | None = None
    awaited: frozenset[StreamsTaskId] = frozenset()


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """Kafka's num.standby.replicas, max.warmup.replicas, acceptable.recovery.lag, rack.aware.assignment.tags,
    and what begins like that.

    Costs: None for Kafka Streams' own (10 and 1 for tasks with stores, 1 and 0 for the others).
    """

    standby_replicas: int = 0
    warm_up_replicas_max: int = 2
    acceptable_lag: int = 10_000
    rack_aware_tags: tuple[str, ...] = ()
    rack_aware_strategy: RackAwareStrategy = RackAwareStrategy.NONE
    traffic_cost: int | None = None
    non_overlap_cost: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """By instance, the tasks that it runs, and those of which it keeps or warms up a copy.

    `is_final`: nothing is to move later.
    """

    active: Mapping[str, frozenset[StreamsTaskId]]
    standby: Mapping[str, frozenset[StreamsTaskId]]
    is_final: bool


def place(
    tasks: Iterable[StreamsTaskId],
    changelog_offsets: Mapping[StreamsTaskId, int],
    instances: Mapping[str, Instance],
    policy: PlacementPolicy,
    racks: TaskRacks,
) -> Placement:
    """Returns where the tasks go.

    `changelog_offsets`: by task with stores, how many offsets there are to restore for who has nothing.

    `racks`: by task, for each of its partitions the racks that have a replica; none where brokers do not say.
    """
    wanted = frozenset(tasks)
    placing = _Placing(instances, policy, changelog_offsets, racks)
    placing.place_active(wanted)
    placing.place_standbys(sorted(wanted & changelog_offsets.keys()))
    moves_later = placing.stay_where_stores_are(sorted(wanted & changelog_offsets.keys()))
    return Placement(
        {name: frozenset(mine) for name, mine in placing.active.items()},
        {name: frozenset(mine) for name, mine in placing.standby.items()},
        is_final=not moves_later,
    )


class _Placing:
    """A placement under construction."""

    def __init__(
        self,
        instances: Mapping[str, Instance],
        policy: PlacementPolicy,
        changelog_offsets: Mapping[StreamsTaskId, int],
        racks: TaskRacks,
    ) -> None:
        self._racks = racks
        self._heeds_racks = (
            policy.rack_aware_strategy is not RackAwareStrategy.NONE
            and all(each.rack is not None for each in instances.values())
            and len({each.rack for each in instances.values()}) > 1
            and bool(racks)
            and all(each and all(each) for each in racks.values())
        )
        self._instances = instances
        self._policy = policy
        self._changelog_offsets = changelog_offsets
        self.active: dict[str, set[StreamsTaskId]] = {}
        self.standby: dict[str, set[StreamsTaskId]] = {name: set() for name in sorted(instances)}

    def place_active(self, tasks: frozenset[StreamsTaskId]) -> None:
        """Places active tasks.

        Those with stores go first, so that each instance has as many of them as of the others.
        """
        capacities = {name: each.threads for name, each in self._instances.items()}
        before = {name: each.running | each.awaited for name, each in self._instances.items()}
        stateful = tasks & self._changelog_offsets.keys()
        copies = {task: self._copies_by_lag(task) for task in stateful}
        self.active = share_out(stateful, capacities, before, copies=copies)
        loads = {name: len(mine) for name, mine in self.active.items()}
        stateless = share_out(tasks - stateful, capacities, before, loads)
        if self._heeds_racks:
            self._lower_traffic(self.active)
            self._lower_traffic(stateless)
        for name, mine in stateless.items():
            self.active[name] |= mine

    def _lower_traffic(self, active: Mapping[str, set[StreamsTaskId]]) -> None:
        if self._policy.rack_aware_strategy is RackAwareStrategy.MIN_TRAFFIC:
            swap_for_less(active, self._cost)
            return
        for number in sorted({task.sub_topology for mine in active.values() for task in mine}):
            part = {
                name: {task for task in mine if task.sub_topology == number}
                for name, mine in active.items()
            }
            before = {name: set(mine) for name, mine in part.items()}
            swap_for_less(part, self._cost)
            for name, mine in active.items():
                mine -= before[name]
                mine |= part[name]

    def _cost(self, task: StreamsTaskId, name: str) -> int:
        has_stores = task in self._changelog_offsets
        traffic, non_overlap = self._policy.traffic_cost, self._policy.non_overlap_cost
        traffic = (10 if has_stores else 1) if traffic is None else traffic
        non_overlap = (1 if has_stores else 0) if non_overlap is None else non_overlap
        instance = self._instances[name]
        across = sum(instance.rack not in racks for racks in self._racks.get(task, ()))
        return traffic * across + non_overlap * (task not in instance.running)

    def place_standbys(self, tasks: Sequence[StreamsTaskId]) -> None:
        """Places standby tasks.

        Each copy goes where other tags are than those of the task and its other copies,
        then where most of it is already.
        """
        for task in tasks:
            has_it = [name for name, mine in self.active.items() if task in mine]
            for _ in range(min(self._policy.standby_replicas, len(self._instances) - 1)):
                name = min(
                    (each for each in self.standby if each not in has_it),
                    key=lambda each: (
                        self._tags_shared(each, has_it),
                        task not in self._instances[each].lags,
                        self._load(each),
                        self._lag(each, task),
                        self._steps(has_it[0], each),
                    ),
                )
                self.standby[name].add(task)
                has_it.append(name)

    def stay_where_stores_are(self, tasks: Sequence[StreamsTaskId]) -> bool:
        """Leaves tasks where it takes no time to go on with them. Returns whether one is to move later."""
        warm_ups_left = self._policy.warm_up_replicas_max
        moves_later = False
        for task in tasks:
            place = next(name for name, mine in self.active.items() if task in mine)
            if self._is_caught_up(place, task):
                continue
            fit = [name for name in self._instances if self._is_caught_up(name, task)]
            if not fit:
                continue
            stays = min(fit, key=lambda name: (*self._reluctance(name, task), name))
            moves_later = True
            self.active[place].remove(task)
            self.active[stays].add(task)
            if task in self.standby[stays]:
                self.standby[stays].remove(task)
                self.standby[place].add(task)
            elif warm_ups_left:
                warm_ups_left -= 1
                self.standby[place].add(task)
        return moves_later

    def _reluctance(self, name: str, task: StreamsTaskId) -> tuple[bool, float]:
        return task not in self._instances[name].running, self._load(name)

    def _load(self, name: str) -> float:
        """Returns the number of tasks and copies for each thread."""
        return (len(self.active[name]) + len(self.standby[name])) / self._instances[name].threads

    def _lag(self, name: str, task: StreamsTaskId) -> int:
        return self._instances[name].lags.get(task, self._changelog_offsets[task])

    def _is_caught_up(self, name: str, task: StreamsTaskId) -> bool:
        return self._lag(name, task) <= self._policy.acceptable_lag

    def _copies_by_lag(self, task: StreamsTaskId) -> list[str]:
        """Returns the instances that have stores of a task that they do not run, those first that it takes
        the least time to go on with.
        """
        lags = {
            name: 0 if self._is_caught_up(name, task) else self._lag(name, task)
            for name, each in self._instances.items()
            if task in each.lags and task not in each.running
        }
        spared = {
            name for name, lag in lags.items() if not lag or lag < self._changelog_offsets[task]
        }
        return sorted(spared, key=lambda name: (lags[name], name))

    def _steps(self, start: str, name: str) -> int:
        """Returns how many steps one instance is from another, in a ring by name."""
        names = list(self.standby)
        return (names.index(name) - names.index(start)) % len(names)

    def _tags_shared(self, name: str, others: Iterable[str]) -> int:
        """Returns how much a place has in common with others: in tags where they count, else in racks."""
        if self._heeds_racks and not self._policy.rack_aware_tags:
            return sum(self._instances[name].rack == self._instances[each].rack for each in others)
        mine = self._instances[name].tags
        return sum(
            mine.get(tag) is not None and mine.get(tag) == self._instances[other].tags.get(tag)
            for other in others
            for tag in self._policy.rack_aware_tags
        )
