"""A coordinator on a partition that leads, loses and leads again with records cut: no committed offset goes back, and no answer is
given for a record that is gone.

Each step is one thing that happens; after some everything that is ready runs, after others it does not, so that a shard hears of a new
epoch, of the mark or of its requests in any order. The model is what clients have been told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.errors import KafkaError
from millstream.protocol.generated.offset_commit import OffsetCommitResponse
from millstream.protocol.generated.offset_fetch import OffsetFetchResponse
from tests.unit.broker.coordination.test_replicated_coordinator import World, serving, stored, turns

SHARES = st.sampled_from([0.0, 0.5, 1.0])
"""Where between the high watermark and the log end something happens."""
LOSSES = st.tuples(st.just("lose"), SHARES, st.integers(0, 2), st.booleans())
HAPPENINGS = st.one_of(
    st.just("commit"),
    st.just("fetch"),
    st.sampled_from(["commit", "fetch", "apply", "shrink"]),
    st.tuples(st.just("replicate"), SHARES),
    LOSSES,
)
STEPS = st.tuples(HAPPENINGS, st.sampled_from([True, True, False]))
"""And whether everything that is ready runs before the next."""


@dataclass
class Clients:
    """What was asked and told. Every commit is of an offset that no other is of, and they rise."""

    world: World
    last_offset: int = 0
    told: int = -1
    """The greatest offset that anybody was told to be committed."""
    committed_to: int = 0
    """How far another leader knew the log to be committed."""
    commits: list[tuple[int, asyncio.Future[object]]] = field(default_factory=list)
    fetches: list[tuple[int, asyncio.Future[object]]] = field(default_factory=list)
    """With what had been told when it was asked."""

    def next_offset(self) -> int:
        self.last_offset += 1
        return self.last_offset

    def ask(self, step: str) -> None:
        try:
            if step == "commit":
                offset = self.next_offset()
                self.commits.append((offset, self.world.commit(offset)))
            else:
                self.fetches.append((self.told, self.world.fetch()))
        except KafkaError:
            pass  # nobody leads, or it loads

    def check(self) -> None:
        """What has been answered since the last time is committed, here and on every leader to come."""
        committed = {(value or b"")[:10] for value in self.world.replicated.committed_values()}
        told = self.told
        for offset, answer in _answered(self.commits):
            if isinstance(answer, OffsetCommitResponse):
                assert stored_value(offset) in committed, "an answer for a record that is gone"
                told = max(told, offset)
        for before, answer in _answered(self.fetches):
            if isinstance(answer, OffsetFetchResponse):
                offset = answer.groups[0].topics[0].partitions[0].committed_offset
                assert offset >= before, "a committed offset has gone back"
                assert offset == -1 or stored_value(offset) in committed
                told = max(told, offset)
        self.told = told


def _answered(
    asked: list[tuple[int, asyncio.Future[object]]],
) -> Iterator[tuple[int, object]]:
    for each in list(asked):
        if each[1].done():
            asked.remove(each)
            yield each[0], each[1].result()


def stored_value(offset: int) -> bytes:
    """Of which only the offset is looked at: the time of a commit is the clock's."""
    value = stored(offset).value
    assert value is not None
    return value[:10]


def between(low: int, high: int, share: float) -> int:
    return low + round((high - low) * share)


async def play(steps: list[tuple[object, bool]]) -> None:
    async with serving(World()) as world:
        clients = Clients(world)
        for happening, runs in steps:
            happen(happening, world, clients)
            if runs:
                await turns()
            clients.check()
        world.replicated.lead()
        world.apply()
        await turns()
        world.replicated.replicate()
        await turns()
        clients.ask("fetch")
        await turns()
        clients.check()
        assert not clients.fetches, "a coordinator whose replicas are in sync answers"


def happen(step: object, world: World, clients: Clients) -> None:
    replicated = world.replicated
    mark, end = replicated.partition.high_watermark, replicated.log.log_end_offset
    match step:
        case "commit" | "fetch":
            clients.ask(str(step))
        case "apply":
            world.apply()
        case "shrink":
            replicated.shrink()
        case ("replicate", float(share)):
            replicated.replicate(between(mark, end, share))
        case ("lose", float(share), int(count), bool(is_heard)):
            # What another leader writes are commits as well. Where it has told them, since this node has them, this node leads
            # before it has heard how far they are committed, and the same clients ask it next.
            records = [stored(clients.next_offset()) for _ in range(count)]
            world.lead_again(between(max(mark, clients.committed_to), end, share), *records)
            if is_heard:
                world.apply()
                if records:
                    clients.told, clients.committed_to = (
                        clients.last_offset,
                        replicated.log.log_end_offset,
                    )


@settings(max_examples=400)
@given(st.lists(STEPS, min_size=5, max_size=40))
def test_nothing_that_is_told_is_lost(steps: list[tuple[object, bool]]) -> None:
    asyncio.run(play(steps))
