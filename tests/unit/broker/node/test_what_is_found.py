"""A node finds on its disk what another time, or another release, has left there."""

from __future__ import annotations

import pytest

from millstream.controller.operation import ControllerResult
from millstream.protocol.generated.metadata_records import ConfigRecord
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.node.test_broker_part import node


async def test_a_directory_of_a_topic_that_was_made_anew_meanwhile_is_moved_aside() -> None:
    """As on a broker that was away while the topic was deleted and created again."""
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t")
        running.append("t", b"old")
    former = {path: disk.read(path) for path in disk.files() if path.startswith("data/t-0/")}
    async with node(disk) as running:
        await running.delete("t")
        await running.create("t")
        running.append("t", b"new")
        running.append("t", b"newer")
    disk.remove_tree("data/t-0")
    disk.remove(
        "data/segment-checkpoint"
    )  # that of the directory as it was would not know the new topic
    disk.make_directory("data/t-0")
    for path, data in former.items():
        disk.write_atomically(path, data)
    async with node(disk) as running:
        assert running.services.partitions.get("t", 0).log_end_offset == 0
        aside = [name for name in disk.list("data") if name.endswith("-stray")]
        assert [disk.read(f"data/{name}/partition.metadata") for name in aside] == [
            former["data/t-0/partition.metadata"]
        ]


async def test_keys_that_are_not_valid_here_are_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They may have been stored by another release: whoever asks is refused."""

    def store(_context: object, _request: None) -> ControllerResult[None]:
        stored = {"message.format.version": "2.8", "retention.ms": "many", "segment.ms": "77"}
        records = [ConfigRecord(2, "t", name, value) for name, value in stored.items()]
        return ControllerResult(tuple(records), None)

    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t")
        await running.services.controller.submit(store, None)
    with caplog.at_level("WARNING"):
        async with node(disk) as running:
            config = running.services.partitions.get("t", 0).log.config
            assert (config.segment_ms, config.retention_ms) == (77, 7_200_000)
            assert running.append("t", b"v") == 0
    told = dict.fromkeys(line for line in caplog.messages if line.startswith("topic t: "))
    assert list(told) == [
        "topic t: Unknown configuration message.format.version: check the spelling, or remove it; it counts for nothing",
        "topic t: Invalid value many for configuration retention.ms: write a whole number; it counts for nothing",
    ]
