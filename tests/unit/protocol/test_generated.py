"""The generated modules: fresh, complete, and as their tables say."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from millstream.protocol.catalogue import every_message
from millstream.protocol.generated.fetch import LeaderIdAndEpoch, PartitionData, SnapshotId
from millstream.protocol.generated.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)

ROOT = Path(__file__).parents[3]
CHECK = """
from pathlib import Path
from codegen.messages.outputs import outputs
generated = Path("src/millstream/protocol/generated")
for path, text in outputs(generated).items():
    if not path.exists() or path.read_text() != text:
        print("stale", path)
for path in set(generated.glob("*.py")) - set(outputs(generated)) - {generated / "__init__.py"}:
    print("of no table", path)
"""


def test_generated_modules_are_what_the_tables_say() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "", "run `make codegen`"


def test_there_are_as_many_messages_as_kafka_4_3_has() -> None:
    kinds: dict[str, int] = {}
    for entry in every_message().values():
        kinds[entry.schema.kind] = kinds.get(entry.schema.kind, 0) + 1
    assert kinds == {
        "request": 89,
        "response": 89,
        "header": 2,
        "metadata": 26,
        "group-key": 22,
        "group-value": 22,
        "transaction-key": 1,
        "transaction-value": 1,
        "share-key": 2,
        "share-value": 2,
        "control": 7,
        "consumer": 2,
        "remote-log": 4,
        "other": 4,
    }


def test_small_values_are_frozen_so_that_messages_can_share_their_default() -> None:
    first, second = PartitionData(), PartitionData()
    assert first.current_leader is second.current_leader
    with pytest.raises(FrozenInstanceError):
        first.current_leader.leader_id = 1  # type: ignore[misc]  # this is what is tested
    assert first.current_leader == LeaderIdAndEpoch(-1, -1)
    assert first.snapshot_id == SnapshotId(-1, -1)


def test_lists_are_never_shared() -> None:
    first, second = PartitionData(), PartitionData()
    assert first.aborted_transactions is not second.aborted_transactions


@pytest.mark.parametrize(
    ("metadata", "tags"),
    [(ClassicMemberMetadata(), "00"), (None, "01 00 01 00")],
    ids=["default", "null"],
)
def test_null_is_written_out_where_the_default_of_a_tagged_field_is_not_null(
    metadata: ClassicMemberMetadata | None, tags: str
) -> None:
    out = bytearray()
    ConsumerGroupMemberMetadataValue(classic_member_metadata=metadata).encode(out, 0)
    assert out.endswith(b"\xff\xff\xff\xff\x01" + bytes.fromhex(tags))
