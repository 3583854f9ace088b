from __future__ import annotations

from millstream.replication.high_watermark import advanced_high_watermark


def test_a_single_replica_is_committed_as_it_writes():
    assert advanced_high_watermark(3, 9, [], {}) == 9


def test_the_slowest_in_sync_follower_bounds_it():
    assert advanced_high_watermark(3, 9, [2, 3], {2: 8, 3: 5, 4: 1}) == 5


def test_a_follower_that_has_not_fetched_yet_holds_it():
    assert advanced_high_watermark(3, 9, [2], {}) == 3


def test_it_never_goes_back():
    assert advanced_high_watermark(7, 9, [2], {2: 5}) == 7
