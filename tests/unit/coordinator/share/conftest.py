"""A world for the tests of share state. Fixtures build, they assert nothing."""

from __future__ import annotations

import pytest

from millstream.metadata.image import MetadataImage
from tests.support.coordinators.coordinator import topics_image
from tests.support.coordinators.share_state import SimShareState


@pytest.fixture
def world() -> SimShareState:
    """The share state of the topic `orders` with two partitions; every third write of a partition is a snapshot."""
    image = MetadataImage(topics=topics_image({"orders": 2}))
    return SimShareState(image, snapshot_update_records_per_snapshot=2)
