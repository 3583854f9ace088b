from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"


class KafkaData(NamedTuple):
    """A data directory that Apache Kafka 4.3.1 shut down cleanly, and what it served from it."""

    path: str
    expected: dict[str, dict[str, list[list[object]]]]
    """topic -> isolation level -> [offset, timestamp, key, first 40 characters of the value]."""


@pytest.fixture
def kafka_data(tmp_path) -> KafkaData:
    with tarfile.open(FIXTURES / "kafka-4.3.1-data.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return KafkaData(str(tmp_path / "data"), json.loads((tmp_path / "expected.json").read_text()))
