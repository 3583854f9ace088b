"""An instance knows how far the stores are that lie on its disk, of tasks that nobody has there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from millstream.streams import Materialized, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.stores_on_disk import StoresOnDisk
from millstream.streams.serdes import string
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.storage.transaction import StoreMetadata

APPLICATION = "app"
READS = "reads"
COUNTS = "words"


def topology() -> Topology:
    """Sub-topology 0 has no stores; 1 counts in two."""
    builder = StreamsBuilder()
    builder.stream(READS, key=string(), value=string()).to("out")
    words = builder.stream(COUNTS, key=string(), value=string()).group_by_key()
    words.count(materialized=Materialized("one"))
    words.count(materialized=Materialized("two"))
    return builder.build()


def write(directory: Path, task: str, **offsets: int | None) -> None:
    path = directory / task
    path.mkdir(exist_ok=True)
    with closing(RocksDatabase(str(path))) as database:
        for store, offset in offsets.items():
            metadata = StoreMetadata(changelog_offset=offset)
            RocksByteStore(database, store).write({b"row": b""}, metadata.encode())


@pytest.fixture
def stores(tmp_path: Path) -> StoresOnDisk:
    return StoresOnDisk(topology(), StreamsConfig(APPLICATION), tmp_path)


def test_the_offsets_of_a_tasks_stores_are_added_up(stores: StoresOnDisk, tmp_path: Path) -> None:
    write(tmp_path, "words_0", one=5, two=7)
    write(tmp_path, "words_12", one=3)
    assert stores.offset_sums() == {StreamsTaskId(1, 0): 12, StreamsTaskId(1, 12): 3}


def test_what_is_no_store_of_a_task_with_changelogs_is_not_told(
    stores: StoresOnDisk, tmp_path: Path
) -> None:
    write(tmp_path, "words_0", one=None)  # it was opened, and nothing came of it
    write(tmp_path, "reads_0", one=5)
    write(tmp_path, "others_0", one=5)
    write(tmp_path, "words_0.obsolete", one=5)
    (tmp_path / "words_3").mkdir()
    (tmp_path / "words_4").write_text("a file")
    assert stores.offset_sums() == {}
    assert not list((tmp_path / "words_3").iterdir()), "nothing is made by looking"


def test_stores_that_a_task_has_open_are_its_own_affair(
    stores: StoresOnDisk, tmp_path: Path
) -> None:
    write(tmp_path, "words_0", one=5)
    assert stores.offset_sums() == {StreamsTaskId(1, 0): 5}
    with closing(RocksDatabase(str(tmp_path / "words_0"))):
        assert stores.offset_sums() == {}
    write(tmp_path, "words_0", one=6)
    assert stores.offset_sums() == {StreamsTaskId(1, 0): 6}


def test_damaged_stores_are_not_told(stores: StoresOnDisk, tmp_path: Path) -> None:
    write(tmp_path, "words_0", one=5)
    for manifest in (tmp_path / "words_0").glob("MANIFEST-*"):
        manifest.write_bytes(b"damaged")
    assert stores.offset_sums() == {}


def test_what_has_not_changed_is_read_once(
    stores: StoresOnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "words_0", one=5)
    before = stores.offset_sums()

    def not_again(*_: object, **__: object) -> None:
        raise AssertionError("it is known")

    monkeypatch.setattr(RocksDatabase, "__init__", not_again)
    assert stores.offset_sums() == before == {StreamsTaskId(1, 0): 5}


def test_a_directory_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert (
        StoresOnDisk(topology(), StreamsConfig(APPLICATION), tmp_path / "nowhere").offset_sums()
        == {}
    )
