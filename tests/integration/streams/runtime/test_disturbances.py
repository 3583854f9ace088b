"""A task whose process stands still, whose application runs twice, and whose disk fails: outputs are there once."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from millstream.clients.producer.transaction.core.errors import TransactionFailed
from millstream.errors import MillstreamError, ProducerFenced
from millstream.streams.runtime.errors import StoreNotWritten
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.steps import Step
from millstream.streams.state.storage.rocksdb import RocksDatabase
from millstream.testing.broker import Broker
from tests.integration.streams.runtime.world import Crash, World
from tests.patience import eventually

STEPS_OF_A_TRANSACTION = [Step.PRODUCED, Step.OFFSETS_SENT]
TRANSACTION_MS = 300
PAUSE_S = 1.5
"""Longer than a transaction may take, and until the broker has looked for such."""
WORDS = [*"abcabcaabbcabcab"]


def counted(words: list[str]) -> list[tuple[str, int]]:
    """The counts of words, as they are written one after another."""
    return [(word, words[: at + 1].count(word)) for at, word in enumerate(words)]


@pytest.mark.parametrize("step", STEPS_OF_A_TRANSACTION)
async def test_a_process_that_stood_still_past_its_transaction_time_out_begins_anew(
    tmp_path: Path, step: Step
) -> None:
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    with Broker(in_process=False, settings=settings) as broker:
        async with World.open(broker.bootstrap_servers, tmp_path / "here", "app") as world:
            patient_ms = world.transaction_timeout_ms
            await world.put(WORDS)
            await world.run(0)
            world.transaction_timeout_ms = TRANSACTION_MS
            world.once_after = (step, lambda: time.sleep(PAUSE_S))
            with pytest.raises(MillstreamError) as failed:
                await world.run(1)
            assert is_retriable(failed.value), "the next run is told to try again"
            # A busy machine may take longer for a run than a transaction of this test may.
            world.transaction_timeout_ms = patient_ms
            await world.run(1)
            assert await world.results() == counted(WORDS)


@pytest.mark.parametrize("step", STEPS_OF_A_TRANSACTION)
async def test_a_process_that_stood_still_while_another_did_its_work_is_fenced(
    world: World, tmp_path: Path, step: Step
) -> None:
    await world.put(WORDS)
    await world.run(0)
    paused = await world.start(1)
    world.crash_at = step
    with pytest.raises(Crash):
        await paused.run(await world.ends(world.spec(1).sources))
    async with world.second_owner(tmp_path / "there") as other:
        await other.run(1)
        with pytest.raises((ProducerFenced, TransactionFailed)):
            await paused._producer.commit_transaction()
    await paused.close()
    assert await world.results() == counted(WORDS)


async def test_two_owners_of_one_application_at_once_do_everything_once(
    world: World, tmp_path: Path
) -> None:
    """They take the task from each other again and again; whoever has it goes on from where the other was."""
    await world.put(WORDS)
    await world.run(0)
    source = world.spec(1).sources[0]
    await eventually(lambda: _is_there(world, source))
    end = (await world.ends([source]))[source]
    async with world.second_owner(tmp_path / "there") as other:
        fenced = await asyncio.gather(
            *(work(owner, {source: end}, seed) for seed, owner in enumerate((world, other)))
        )
    assert sum(fenced), "they were in each other's way"
    assert await world.results() == counted(WORDS)


async def _is_there(world: World, source: str) -> bool:
    """A commit is answered before its records are readable."""
    return (await world.ends([source]))[source] == len(WORDS) + 1


async def work(owner: World, ends: Mapping[str, int], seed: int) -> int:
    """Runs the task in small steps until everything is done. Returns how often it was taken away."""
    chance, fenced = random.Random(seed), 0
    (topic,) = ends
    task = None
    while True:
        try:
            if task is None:
                task = await owner.start(1)
            at = task.position[topic]
            if at >= ends[topic]:
                break
            await task.run({topic: min(ends[topic], at + 1)})
            await asyncio.sleep(chance.random() / 20)
        except MillstreamError as error:
            if not is_retriable(error):
                raise
            fenced += 1
            if task is not None:
                await task.close()
            task = None
    await task.close()
    return fenced


async def test_stores_that_are_deleted_under_a_running_task_are_restored_by_the_next(
    world: World,
) -> None:
    await world.put(WORDS)
    await world.run(0)
    (source,) = world.spec(1).sources
    task = await world.start(1)
    await task.run({source: 5})
    shutil.rmtree(world.directory)
    await task.run({source: 9})
    with suppress(Exception):  # RocksDB may miss its files
        await task.close()
    report = await world.run(1)
    assert report.restored == 9
    assert await world.results() == counted(WORDS)


async def test_a_disk_that_is_full_after_the_commit_costs_no_output(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.put(WORDS)
    await world.run(0)
    (source,) = world.spec(1).sources
    task = await world.start(1)
    await task.run({source: 5})

    def full(*_: object) -> None:
        raise OSError("IO error: No space left on device")

    monkeypatch.setattr(RocksDatabase, "together", full)
    with pytest.raises(StoreNotWritten, match="No space left") as failed:
        await task.run({source: 9})
    assert is_retriable(failed.value)
    monkeypatch.undo()
    await task.close()
    await world.run(1)
    assert await world.results() == counted(WORDS)


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_stores_that_are_damaged_are_restored(world: World, is_deleted: bool) -> None:
    await world.put(WORDS)
    await world.run_all()
    for file in world.spec(1).stores_path(0).glob("MANIFEST-*"):
        if is_deleted:
            file.unlink()
        else:
            file.write_bytes(b"no manifest")
    report = await world.run(1)
    assert (report.read, report.restored) == (0, len(WORDS))
