"""An image, whatever led to it, and the image of its snapshot records are the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.metadata.image_difference import difference
from millstream.metadata.record_versions import record_version
from millstream.metadata.snapshot_records import image_records
from millstream.model import LeaderEpoch, Offset, Uuid
from millstream.protocol.generated import metadata_records as records
from millstream.protocol.record_frames import decode_metadata_record, encode_metadata_record

IDS = st.integers(1, 4).map(lambda n: Uuid(n.to_bytes(16, "big")))
NEWEST_FIELDS_LEVEL = 29
NAMES = st.sampled_from(["alice", "bob", "ä", ""])
NUMBERS = st.integers(0, 5)
TIMES = st.integers(0, 1 << 50)

acls = st.builds(
    records.AccessControlEntryRecord,
    id=IDS, resource_type=NUMBERS, resource_name=NAMES, pattern_type=NUMBERS, principal=NAMES,
    host=NAMES, operation=NUMBERS, permission_type=NUMBERS,
)  # fmt: skip
scram = st.builds(
    records.UserScramCredentialRecord,
    name=NAMES, mechanism=st.integers(1, 2), salt=st.binary(max_size=4), stored_key=st.binary(max_size=4),
    server_key=st.binary(max_size=4), iterations=st.integers(4096, 16384),
)  # fmt: skip
tokens = st.builds(
    records.DelegationTokenRecord,
    owner=NAMES, requester=NAMES, renewers=st.lists(NAMES, max_size=2), issue_timestamp=TIMES,
    max_timestamp=TIMES, expiration_timestamp=TIMES, token_id=NAMES,
)  # fmt: skip
entities = st.dictionaries(
    st.sampled_from(["user", "client-id", "ip"]), st.none() | NAMES, min_size=1
).map(lambda d: [records.EntityData(entity_type=k, entity_name=v) for k, v in d.items()])
quotas = st.builds(
    records.ClientQuotaRecord,
    entity=entities, key=st.sampled_from(["producer_byte_rate", "request_percentage"]),
    value=st.floats(0, 1e9), remove=st.booleans(),
)  # fmt: skip
plain = st.one_of(
    acls,
    scram,
    tokens,
    quotas,
    st.builds(records.RemoveUserScramCredentialRecord, name=NAMES, mechanism=st.integers(1, 2)),
    st.builds(records.RemoveDelegationTokenRecord, token_id=NAMES),
    st.builds(
        records.FeatureLevelRecord,
        name=st.sampled_from(["group.version", "a.version"]),
        feature_level=st.integers(0, 30),
    ),
    # Lower levels have no place for some fields: tests/unit/controller/test_older_levels.py.
    st.builds(
        records.FeatureLevelRecord,
        name=st.just("metadata.version"),
        feature_level=st.integers(NEWEST_FIELDS_LEVEL, 30),
    ),
    st.builds(
        records.ConfigRecord,
        resource_type=st.sampled_from([2, 4, 16, 32]),
        resource_name=NAMES,
        name=NAMES,
        value=st.none() | NAMES,
    ),
    st.builds(records.ProducerIdsRecord, next_producer_id=st.integers(1, 1 << 62)),
    st.builds(
        records.RegisterControllerRecord,
        controller_id=NUMBERS,
        incarnation_id=IDS,
        end_points=st.lists(
            st.builds(records.ControllerEndpoint, name=NAMES, host=NAMES, port=NUMBERS), max_size=2
        ),
    ),
    st.builds(
        records.RegisterBrokerRecord,
        broker_id=NUMBERS,
        incarnation_id=IDS,
        broker_epoch=TIMES,
        rack=st.none() | NAMES,
        fenced=st.booleans(),
        in_controlled_shutdown=st.booleans(),
        log_dirs=st.lists(IDS, max_size=2),
        cordoned_log_dirs=st.none() | st.lists(IDS, max_size=2),
        end_points=st.lists(
            st.builds(records.BrokerEndpoint, name=NAMES, host=NAMES, port=NUMBERS), max_size=2
        ),
        features=st.lists(
            st.builds(records.BrokerFeature, name=NAMES, max_supported_version=NUMBERS), max_size=1
        ),
    ),
)


def topic(number: int, draw: st.DrawFn) -> list[MetadataRecord]:
    topic_id = Uuid((number + 100).to_bytes(16, "big"))
    created: list[MetadataRecord] = [records.TopicRecord(name=f"topic-{number}", topic_id=topic_id)]
    for partition in range(draw(st.integers(0, 2))):
        eligible = draw(st.none() | st.just([2]))
        created.append(
            records.PartitionRecord(
                partition_id=partition, topic_id=topic_id, replicas=[1, 2], isr=[1], leader=1,
                leader_epoch=draw(NUMBERS), partition_epoch=draw(NUMBERS), removing_replicas=draw(st.sampled_from([[], [2]])),
                directories=draw(st.sampled_from([[], [Uuid(bytes(16)), Uuid(b"d" * 16)]])),
                eligible_leader_replicas=eligible, leader_recovery_state=draw(st.integers(0, 1)),
            )
        )  # fmt: skip
    return created


def replayed(on: MetadataImage, *changes: MetadataRecord) -> MetadataImage:
    delta = MetadataDelta(on)
    for change in changes:
        delta.replay(change)
    return delta.image(Offset(7), LeaderEpoch(3))


@given(st.data())
def test_a_snapshot_replayed_on_nothing_gives_the_image_again(data: st.DataObject) -> None:
    image = replayed(MetadataImage(cluster_id="c"))
    for number in range(data.draw(st.integers(0, 4))):
        image = replayed(image, *data.draw(st.lists(plain, max_size=6)), *topic(number, data.draw))
        if image.acls and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(image.acls)))
            image = replayed(image, records.RemoveAccessControlEntryRecord(id=gone))
    written = [encode_metadata_record(r, record_version(r)) for r in image_records(image)]
    read = [decode_metadata_record(value) for value in written]
    assert replayed(MetadataImage(cluster_id="c"), *read) == image


@given(st.lists(st.tuples(st.booleans(), acls), max_size=20))
def test_the_rules_left_are_those_a_plain_dict_would_hold(
    steps: list[tuple[bool, records.AccessControlEntryRecord]],
) -> None:
    """CVE-2024-27309: removing one rule took others with it."""
    model: dict[bytes, str] = {}
    image = MetadataImage()
    for add, record in steps:
        if add:
            model[record.id] = record.resource_name
            image = replayed(image, record)
        elif record.id in model:
            del model[record.id]
            image = replayed(image, records.RemoveAccessControlEntryRecord(id=record.id))
    assert {acl_id: entry.resource_name for acl_id, entry in image.acls.items()} == model


@given(st.data())
def test_what_differs_from_a_later_image_makes_it_of_an_earlier_one(data: st.DataObject) -> None:
    """A node whose log the controllers' no longer reaches back to is given a snapshot in place of all that it has missed."""
    before = replayed(MetadataImage(cluster_id="c"), *data.draw(st.lists(plain, max_size=8)))
    for number in range(data.draw(st.integers(0, 3))):
        before = replayed(before, *topic(number, data.draw))
    after = replayed(before, *data.draw(st.lists(plain, max_size=8)))
    for name in data.draw(st.sets(st.sampled_from(sorted(after.topics.by_name) or [""]))):
        found = after.topics.by_name.get(name)
        if found is not None:
            after = replayed(after, records.RemoveTopicRecord(topic_id=found.topic_id))
            if data.draw(st.booleans()):  # anew, under the same name
                anew = Uuid(bytes(15) + bytes([200 + int(name[-1])]))
                after = replayed(after, records.TopicRecord(name=name, topic_id=anew))
    for broker_id in data.draw(st.sets(st.sampled_from(sorted(after.brokers) or [-1]))):
        found_broker = after.brokers.get(broker_id)
        if found_broker is not None:
            gone = records.UnregisterBrokerRecord(
                broker_id=broker_id, broker_epoch=found_broker.broker_epoch
            )
            after = replayed(after, gone)
    assert replayed(before, *difference(before, after)) == after
    assert list(difference(after, after)) == []
