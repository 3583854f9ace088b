"""Plans which brokers shall have the replicas of partitions: evenly, over racks, with as few moves as that takes. Pure.

Kafka's tool deals all replicas out anew. This planner keeps a replica where it is as long as its
broker has not more than its share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import final

from millstream.cli.cluster.reassignment.files import Replicas
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.quoting import counted


def balanced(
    current: Replicas, racks: Mapping[int, str | None], factor: int | None = None
) -> dict[TopicPartition, tuple[int, ...]]:
    """Returns the replicas of each partition on the brokers of `racks`, the preferred leader first.

    `factor`: how many each partition shall have; by default as many as now. Raises ConfigError
    where there are not so many brokers.
    """
    most = max((factor or len(replicas) for replicas in current.values()), default=0)
    if most > len(racks):
        raise ConfigError(
            f"{counted(most, 'replica')} need as many brokers, and there {'is' if len(racks) == 1 else 'are'} {len(racks)} to take them"
        )
    plan = _Plan(current, racks, factor)
    plan.even_out()
    return plan.with_leaders()


@final
class _Plan:
    """The replicas of every partition while they are dealt out."""

    def __init__(
        self, current: Replicas, racks: Mapping[int, str | None], factor: int | None
    ) -> None:
        # A broker without a rack is a rack of its own.
        self._rack: Mapping[int, object] = {
            broker: broker if rack is None else rack for broker, rack in sorted(racks.items())
        }
        # Dicts for sets in the order in which they were filled: the same question has the same answer.
        self._on: dict[int, dict[TopicPartition, None]] = {broker: {} for broker in self._rack}
        self._replicas: dict[TopicPartition, list[int]] = {}
        self._stuck: set[tuple[int, int]] = set()
        """Pairs of brokers of which the first has nothing that the second could take."""
        for key in sorted(current):
            kept = [each for each in current[key] if each in racks]
            self._replicas[key] = kept[: factor or len(current[key])]
            for broker in self._replicas[key]:
                self._on[broker][key] = None
        for key, replicas in self._replicas.items():
            while len(replicas) < (factor or len(current[key])):
                self._add(key, replicas)

    def _add(self, key: TopicPartition, replicas: list[int]) -> None:
        """Adds the broker that has the least, on a rack without a replica where there is one."""
        taken = {self._rack[each] for each in replicas}
        free = (each for each in self._rack if each not in replicas)
        chosen = min(free, key=lambda each: (self._rack[each] in taken, len(self._on[each]), each))
        replicas.append(chosen)
        self._on[chosen][key] = None

    def even_out(self) -> None:
        """Moves replicas from the brokers with the most to those with the least, until nothing is gained."""
        while self._move_one():
            pass

    def _move_one(self) -> bool:
        by_load = sorted(self._on, key=lambda broker: (len(self._on[broker]), broker))
        for giver in reversed(by_load):
            for taker in by_load:
                if len(self._on[giver]) - len(self._on[taker]) <= 1:
                    break
                if (giver, taker) in self._stuck:
                    continue
                for key in self._on[giver]:
                    if self._may_move(key, giver, taker):
                        self._move(key, giver, taker)
                        return True
                self._stuck.add((giver, taker))
        return False

    def _may_move(self, key: TopicPartition, giver: int, taker: int) -> bool:
        """Whether the replica can go there, and the replicas stand on as many racks then."""
        if key not in self._on[giver] or key in self._on[taker]:
            return False
        others = {self._rack[each] for each in self._replicas[key] if each != giver}
        return self._rack[giver] in others or self._rack[taker] not in others

    def _move(self, key: TopicPartition, giver: int, taker: int) -> None:
        replicas = self._replicas[key]
        replicas[replicas.index(giver)] = taker
        del self._on[giver][key]
        self._on[taker][key] = None
        # Of those that had nothing to give to each other, only this partition has changed.
        self._stuck = {pair for pair in self._stuck if not self._may_move(key, *pair)}

    def with_leaders(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Puts the preferred leaders first: the present ones, and in place of those that lead two more than
        another replica that one.
        """
        leaders = {key: replicas[0] for key, replicas in self._replicas.items()}
        leads = Counter(leaders.values())
        is_settled = False
        while not is_settled:  # each change brings two numbers nearer to each other: it ends
            is_settled = True
            for key, replicas in self._replicas.items():
                least = min(replicas, key=lambda broker: leads[broker])
                if leads[leaders[key]] - leads[least] > 1:
                    leads[leaders[key]] -= 1
                    leads[least] += 1
                    leaders[key] = least
                    is_settled = False
        return {
            key: (leaders[key], *(each for each in replicas if each != leaders[key]))
            for key, replicas in self._replicas.items()
        }
