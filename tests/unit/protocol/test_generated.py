"""The generated modules: fresh, complete, and as their tables say."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import FrozenInstanceError, is_dataclass
from pathlib import Path

import pytest

from millstream.protocol.catalogue import every_message
from millstream.protocol.generated.fetch import LeaderIdAndEpoch, PartitionData, SnapshotId
from millstream.protocol.generated.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.message_values import MessageValue

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


def generated_classes() -> list[type[MessageValue]]:
    modules = {entry.kind.__module__ for entry in every_message().values()}
    return [
        kind
        for module in modules
        for kind in vars(sys.modules[module]).values()
        if isinstance(kind, type) and issubclass(kind, MessageValue) and kind.__module__ == module
    ]


def test_fields_are_the_slots_in_the_order_of_the_constructor() -> None:
    for kind in generated_classes():
        declared = inspect.get_annotations(kind)
        fields = tuple(name for name in declared if not declared[name].startswith("ClassVar"))
        assert kind.field_names() == fields, kind
        assert tuple(inspect.signature(kind).parameters) == fields, kind
        assert not hasattr(kind(), "__dict__"), kind


def test_only_the_few_frozen_values_are_dataclasses() -> None:
    """A server makes 541 classes of messages before it is ready: `dataclass` would take a third of the time to import them."""
    made = [kind for kind in generated_classes() if is_dataclass(kind)]
    frozen = [kind for kind in made if kind.__hash__ is not None]
    assert made == frozen, "a class that is not frozen brings its own methods"
    assert len(made) == 18


def test_messages_are_equal_by_all_fields_and_of_one_class() -> None:
    request = HeartbeatRequest("group", 3)
    assert request == HeartbeatRequest("group", 3)
    assert request != HeartbeatRequest("group", 4)
    assert PartitionData() != LeaderIdAndEpoch()
    with pytest.raises(TypeError, match="unhashable"):
        hash(request)


def test_messages_show_all_fields() -> None:
    assert repr(HeartbeatRequest("group", 3)) == (
        "HeartbeatRequest(group_id='group', generation_id=3, member_id='', group_instance_id=None, unknown_tagged_fields=())"
    )


def test_a_message_is_copied_with_other_values() -> None:
    request = HeartbeatRequest("group", 3, "member")
    assert request.replaced(generation_id=4) == HeartbeatRequest("group", 4, "member")
    assert request.generation_id == 3
    assert LeaderIdAndEpoch(1, 2).replaced(leader_epoch=3) == LeaderIdAndEpoch(1, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'generation'"):
        request.replaced(generation=4)


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
