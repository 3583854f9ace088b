"""Topics are listed when somebody asks, and not again before the list is too old."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from millstream.errors import RequestTimedOut
from millstream.model import Uuid
from millstream.spark import connections
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import KafkaSettings

MINUTE_MS = 60_000


class Listing:
    """A cluster whose topics are asked for, at times that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, ...] | None] = []
        self.topics: dict[str, Uuid] = {"orders": Uuid(bytes(15) + b"1")}
        self.is_there = True
        self.link = Connections(KafkaSettings((("bootstrap_servers", "localhost:1"),)), MINUTE_MS)
        self.now_s = 1_000.0
        monkeypatch.setattr(connections, "_topic_ids", self._listed)
        monkeypatch.setattr(Connections, "admin", lambda _: None)
        monkeypatch.setattr(self.link.runner.get_loop(), "time", lambda: self.now_s)

    async def _listed(self, _: Any, names: tuple[str, ...] | None) -> Mapping[str, Uuid]:
        self.asked.append(names)
        if not self.is_there:
            raise RequestTimedOut("nobody answers")
        return dict(self.topics)


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listing]:
    made = Listing(monkeypatch)
    yield made
    made.link.close()


@pytest.mark.parametrize("names", [("orders",), None])
def test_a_look_up_by_name_and_one_for_all_are_kept_until_their_time_is_over(
    listing: Listing, names: tuple[str, ...] | None
) -> None:
    """Spark asks up to ninety times a second."""
    for _ in range(90):
        assert listing.link.topic_ids(names) == {"orders": Uuid(bytes(15) + b"1")}
    assert listing.asked == [names]
    listing.topics = {"orders": Uuid(bytes(15) + b"2")}
    listing.now_s += 59.9
    assert listing.link.topic_ids(names) == {"orders": Uuid(bytes(15) + b"1")}
    listing.now_s += 0.1
    assert listing.link.topic_ids(names) == {"orders": Uuid(bytes(15) + b"2")}
    assert listing.asked == [names, names]


def test_who_asks_anew_is_answered_anew_and_others_after_it(listing: Listing) -> None:
    listing.link.topic_ids(None)
    listing.topics = {}
    assert listing.link.topic_ids(None, anew=True) == {}
    assert listing.link.topic_ids(None) == {}
    assert listing.asked == [None, None]


def test_each_list_has_a_time_of_its_own(listing: Listing) -> None:
    listing.link.topic_ids(("orders",))
    listing.now_s += 40
    listing.link.topic_ids(None)
    listing.now_s += 40
    listing.link.topic_ids(None)
    listing.link.topic_ids(("orders",))
    assert listing.asked == [("orders",), None, ("orders",)]


def test_a_list_that_cannot_be_had_leaves_the_one_before_in_use(listing: Listing) -> None:
    listing.is_there = False
    with pytest.raises(RequestTimedOut):
        listing.link.topic_ids(None)
    listing.is_there = True
    before = listing.link.topic_ids(None)
    listing.now_s += 60
    listing.is_there = False
    assert listing.link.topic_ids(None) == before
