"""Stores of the user's own making take part in the task: committed, rolled back, restored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from millstream.streams import ProcessorContext, Record, StreamsBuilder, StreamsConfig
from millstream.streams.errors import InvalidStoreError, StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores, rocksdb_stores
from millstream.streams.state.custom import StateStoreContext
from millstream.streams.state.store import ChangelogRecord
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())
CHANGELOG = "app-top-changelog"


class TopScores:
    """The best score of each player, in the rows of the task."""

    def init(self, context: StateStoreContext) -> None:
        self._context = context
        self._rows = context.rows
        context.register(self._restore)

    def offer(self, player: str, score: str) -> str:
        """The best score so far."""
        known = self._rows.get(player.encode())
        if known is None or known.decode() < score:
            self._rows.put(player.encode(), score.encode())
            self._context.log(player.encode(), score.encode())
            return score
        return known.decode()

    def scores(self) -> dict[bytes, bytes]:
        return dict(self._rows.scan(b"", None))

    def close(self) -> None:
        pass

    def _restore(self, records: Sequence[ChangelogRecord]) -> None:
        for record in records:
            self._rows.put(record.key, record.value)


class SetOfWords:
    """A set in memory that undoes by itself what a failed batch did."""

    def init(self, context: StateStoreContext) -> None:
        self._context = context
        self.committed_offset_given: int | None = None
        self.words: set[str] = set()
        self._committed: frozenset[str] = frozenset()
        context.register(self._restore)

    def add(self, word: str) -> None:
        self.words.add(word)

    def flush(self) -> None:
        for word in sorted(self.words - self._committed):
            self._context.log(word.encode(), b"", 7)

    def commit(self, changelog_offset: int | None) -> None:
        self._committed = frozenset(self.words)
        self.committed_offset_given = changelog_offset

    def rollback(self) -> None:
        self.words = set(self._committed)

    def close(self) -> None:
        self.words.clear()

    def _restore(self, records: Sequence[ChangelogRecord]) -> None:
        self.words.update(record.key.decode() for record in records)


class Offer:
    def init(self, context: Any) -> None:
        self._context = context
        self._top: TopScores = context.store("top")

    def process(self, record: Record) -> None:
        best = self._top.offer(record.key, record.value)
        self._context.forward(record.with_value(best))


class AddWord:
    def init(self, context: Any) -> None:
        self._words: SetOfWords = context.store("top")

    def process(self, record: Record) -> None:
        self._words.add(record.value)


def topology(store: StoreSpec, processor: Any = Offer):
    builder = StreamsBuilder()
    builder.add_state_store(store)
    builder.stream("in").process(processor, stores=["top"]).to("out")
    return builder.build()


def spec(supplier: Any = TopScores, **options: Any) -> StoreSpec:
    return StoreSpec("top", StoreKind.CUSTOM, supplier=supplier, **options)


def raw(*rows: tuple[str, str], first_offset: int = 0) -> RawBatch:
    keys: list[bytes | None] = [key.encode() for key, _ in rows]
    values: list[bytes | None] = [value.encode() for _, value in rows]
    return RawBatch(keys, values, [5] * len(rows), range(first_offset, first_offset + len(rows)))


def task(supplier: Any = TopScores, processor: Any = Offer, directory: Path | None = None):
    stores = in_memory_stores() if directory is None else rocksdb_stores(directory)
    return StreamTask(topology(spec(supplier), processor), 0, 0, stores, CONFIG)


def test_a_processor_is_given_the_users_own_object() -> None:
    with TopologyTestDriver(topology(spec()), CONFIG) as driver:
        given, out = driver.input_topic("in"), driver.output_topic("out")
        for score in ("3", "5", "4"):
            given.pipe("ann", score, at=1)
        assert [record.value for record in out.read()] == ["3", "5", "5"]


def test_its_changelog_is_what_it_logs_with_the_time_of_the_record() -> None:
    running = task()
    running.add("in", raw(("ann", "3"), ("ann", "2"), ("bob", "4")))
    log = running.process(0).changelogs[CHANGELOG]
    assert (log.keys, log.values, log.timestamps) == ([b"ann", b"bob"], [b"3", b"4"], [5, 5])


def test_rows_of_the_task_are_rolled_back_with_it() -> None:
    running = task()
    running.add("in", raw(("ann", "3")))
    running.process(0)
    running.commit()
    running.add("in", raw(("ann", "9"), ("bob", "1"), first_offset=1))
    running.process(0)
    running.rollback()
    assert running.stores["top"].exposed.scores() == {b"ann": b"3"}


def test_rows_of_the_task_survive_on_disk_with_the_changelog_offset(tmp_path: Path) -> None:
    running = task(directory=tmp_path)
    running.add("in", raw(("ann", "3")))
    running.process(0)
    running.commit(changelog_offsets={CHANGELOG: 1})
    running.close()
    again = task(directory=tmp_path)
    assert again.state.restore_positions() == {CHANGELOG: 1}
    assert again.stores["top"].exposed.scores() == {b"ann": b"3"}
    again.close()


def test_a_lost_store_is_given_its_changelog_in_batches() -> None:
    again = task()
    assert again.state.restore_positions() == {CHANGELOG: None}
    again.state.restore(CHANGELOG, raw(("ann", "3"), ("bob", "4")))
    assert again.stores["top"].exposed.scores() == {b"ann": b"3", b"bob": b"4"}
    assert again.state.restore_positions() == {CHANGELOG: 2}


def test_a_store_with_rows_of_its_own_is_told_to_flush_commit_and_roll_back() -> None:
    running = task(SetOfWords, AddWord)
    words = running.stores["top"].exposed
    running.add("in", raw(("k", "b"), ("k", "a")))
    running.process(0)
    assert running.prepare_commit().output.changelogs[CHANGELOG].keys == [b"a", b"b"]
    running.commit(changelog_offsets={CHANGELOG: 2})
    assert words.committed_offset_given == 2
    running.add("in", raw(("k", "c"), first_offset=2))
    running.process(0)
    running.rollback()
    assert words.words == {"a", "b"}


def test_a_store_with_rows_of_its_own_starts_from_the_beginning_of_its_changelog(
    tmp_path: Path,
) -> None:
    running = task(SetOfWords, AddWord, tmp_path)
    running.add("in", raw(("k", "b")))
    running.process(0)
    running.commit(changelog_offsets={CHANGELOG: 1})
    running.close()
    again = task(SetOfWords, AddWord, tmp_path)
    assert again.state.restore_positions() == {CHANGELOG: None}
    again.close()


def test_a_store_that_keeps_its_rows_says_from_where_it_is_restored() -> None:
    class Kept(SetOfWords):
        def committed_offset(self) -> int:
            return 12

    assert task(Kept, AddWord).state.restore_positions() == {CHANGELOG: 12}


def test_a_store_that_cannot_forget_a_failed_batch_says_so() -> None:
    class Forgetful(SetOfWords):
        rollback = None

    running = task(Forgetful, AddWord)
    with pytest.raises(
        InvalidStoreError, match=r"store top cannot forget .* give it a method roll"
    ):
        running.rollback()


def test_a_logged_store_must_say_how_it_is_restored() -> None:
    class Silent(SetOfWords):
        def init(self, context: StateStoreContext) -> None:
            pass

    with pytest.raises(StreamsError, match=r"store top .* call context.register in init"):
        task(Silent, AddWord)
    unlogged = topology(spec(Silent, logging=False), AddWord)
    assert StreamTask(unlogged, 0, 0, in_memory_stores(), CONFIG).state.restore_positions() == {}


def test_a_store_registers_while_it_is_opened_and_not_later() -> None:
    """Kafka Streams: "Can only create state stores during initialization"."""

    class Late(SetOfWords):
        def init(self, context: StateStoreContext) -> None:
            super().init(context)
            self.register = context.register

    class Registers:
        def init(self, context: ProcessorContext) -> None:
            context.store("top").register(lambda records: None)

        def process(self, record: Record) -> None:
            """Never reached."""

    with pytest.raises(StreamsError, match=r"store top .* call context.register in init"):
        task(Late, Registers)


def test_what_is_no_store_is_said_with_the_method_it_has_not() -> None:
    with pytest.raises(
        StreamsError, match=r"store top: what its supplier makes, .* no method init"
    ):
        task(object, AddWord)


def test_it_is_connected_like_any_other_store() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(spec())
    builder.stream("in").process(Offer)
    with pytest.raises(InvalidStoreError, match="is not connected with store top"):
        StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)


def test_a_custom_store_has_a_supplier_and_no_other_store_has_one() -> None:
    with pytest.raises(ValueError, match="store top: kind CUSTOM and supplier="):
        StoreSpec("top", StoreKind.CUSTOM)
    with pytest.raises(ValueError, match="store top: kind CUSTOM and supplier="):
        StoreSpec("top", StoreKind.KEY_VALUE, supplier=TopScores)


def test_it_is_closed_with_its_task() -> None:
    running = task(SetOfWords, AddWord)
    words = running.stores["top"].exposed
    words.add("a")
    running.close()
    assert not words.words
