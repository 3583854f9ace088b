"""MetadataLoader: batches become images; transactions become visible at once or never."""

from __future__ import annotations

import pytest

from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import MetadataBatch, MetadataLoader
from millstream.model import LeaderEpoch, Offset
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
)


def batch(base: int, *records: MetadataRecord, epoch: int = 1) -> MetadataBatch:
    return MetadataBatch(
        Offset(base), Offset(base + max(len(records), 1) - 1), LeaderEpoch(epoch), records
    )


def feature(name: str) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=1)


def seen(loader: MetadataLoader, *batches: MetadataBatch) -> list[tuple[int, list[str]]]:
    return [(p.image.offset, sorted(p.image.features)) for b in batches for p in loader.replay(b)]


def test_every_batch_gives_one_image_at_its_last_offset() -> None:
    loader = MetadataLoader(MetadataImage())
    assert seen(loader, batch(0, feature("a"), feature("b")), batch(2, NoOpRecord())) == [
        (1, ["a", "b"]),
        (2, ["a", "b"]),
    ]


def test_a_control_batch_moves_the_offset_only() -> None:
    loader = MetadataLoader(MetadataImage())
    assert seen(loader, MetadataBatch(Offset(0), Offset(2), LeaderEpoch(3))) == [(2, [])]
    assert loader.image.epoch == 3


def test_a_transaction_becomes_visible_at_its_end() -> None:
    loader = MetadataLoader(MetadataImage())
    batches = (
        batch(0, BeginTransactionRecord(), feature("a")),
        batch(2, feature("b")),
        batch(3, EndTransactionRecord(), feature("c")),
    )
    assert seen(loader, *batches) == [(4, ["a", "b", "c"])]


def test_what_stands_before_a_transaction_is_visible_before_its_end() -> None:
    loader = MetadataLoader(MetadataImage())
    assert seen(loader, batch(0, feature("a"), BeginTransactionRecord(), feature("b"))) == [
        (0, ["a"])
    ]
    assert seen(loader, batch(3, EndTransactionRecord())) == [(3, ["a", "b"])]


def test_an_aborted_transaction_never_shows() -> None:
    loader = MetadataLoader(MetadataImage())
    batches = (
        batch(0, BeginTransactionRecord(), feature("a")),
        batch(2, AbortTransactionRecord(), feature("b")),
    )
    assert seen(loader, *batches) == [(3, ["b"])]


def test_a_batch_that_was_replayed_already_is_refused() -> None:
    loader = MetadataLoader(MetadataImage())
    loader.replay(batch(0, NoOpRecord()))
    with pytest.raises(AssertionError, match="comes after the image"):
        loader.replay(batch(0, NoOpRecord()))


@pytest.mark.parametrize("record", [EndTransactionRecord(), AbortTransactionRecord()])
def test_a_transaction_that_never_began_cannot_end(record: MetadataRecord) -> None:
    with pytest.raises(AssertionError, match="never began"):
        MetadataLoader(MetadataImage()).replay(batch(0, record))
