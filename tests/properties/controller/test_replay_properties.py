"""Replaying a controller's records gives what it had live: same image, same next answers."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.broker_lifecycle import plan_fence_expired, plan_heartbeat
from millstream.controller.brokers.registration import plan_registration
from millstream.controller.configs.alter_configs import plan_incremental_alter_configs
from millstream.controller.controller import Controller
from millstream.controller.operation import ControllerContext
from millstream.controller.settings import ControllerSettings
from millstream.controller.topics.create_partitions import plan_create_partitions
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.controller.topics.delete_topics import plan_delete_topics
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import MetadataBatch, MetadataLoader
from millstream.metadata.record_versions import record_version
from millstream.model import Uuid
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.runtime import Instant

SETTINGS = ControllerSettings(cluster_id="c", node_id=1)
EMPTY = MetadataImage(cluster_id="c")
NAMES = st.sampled_from(["a", "b", "a.b", "a_b", "bad name"])
BROKERS = st.integers(1, 3)


def registration(broker_id: int, incarnation: int) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id="c",
        incarnation_id=Uuid(bytes([broker_id, incarnation]) + bytes(14)),
        listeners=[Listener(name="P", host="h", port=1)],
        features=[
            Feature(name="metadata.version", min_supported_version=1, max_supported_version=30),
            Feature(name="kraft.version", min_supported_version=0, max_supported_version=1),
        ],
        log_dirs=[Uuid(bytes([broker_id]) * 16)],
    )


def created(name: str, count: int, factor: int, retention: str) -> CreateTopicsRequest:
    config = CreatableTopicConfig(name="retention.ms", value=retention)
    topic = CreatableTopic(
        name=name, num_partitions=count, replication_factor=factor, configs=[config]
    )
    return CreateTopicsRequest(topics=[topic])


def altered(name: str, operation: int, value: str) -> IncrementalAlterConfigsRequest:
    change = AlterableConfig(name="cleanup.policy", config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[change])
    return IncrementalAlterConfigsRequest(resources=[resource])


REQUESTS = st.one_of(
    st.builds(lambda b, i: (plan_registration, registration(b, i)), BROKERS, st.integers(1, 2)),
    st.builds(lambda b, f, s: ("heartbeat", (b, f, s)), BROKERS, st.booleans(), st.booleans()),
    st.just((plan_fence_expired, None)),
    st.builds(
        lambda n, c, f, r: (plan_create_topics, created(n, c, f, r)),
        NAMES, st.integers(-1, 3), st.integers(-1, 3), st.sampled_from(["1", "x"]),
    ),
    st.builds(lambda n: (plan_delete_topics, DeleteTopicsRequest(topic_names=[n])), NAMES),
    st.builds(
        lambda n, c: (plan_create_partitions, CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=n, count=c, assignments=None)])),
        NAMES, st.integers(0, 5),
    ),
    st.builds(
        lambda n, o, v: (plan_incremental_alter_configs, altered(n, o, v)),
        NAMES, st.integers(0, 3), st.sampled_from(["compact", "delete", "junk"]),
    ),
)  # fmt: skip


def context_of(
    controller: Controller, now_ms: int, chance: random.Random, next_offset: int
) -> ControllerContext:
    now = Instant(now_ms, now_ms)
    return ControllerContext(
        controller.image, SETTINGS, controller.sessions, now, chance, next_offset
    )


def handled(plan: object, request: object, context: ControllerContext) -> tuple:
    """Records and answer, or the class of the refusal."""
    from millstream.errors import KafkaError

    if plan == "heartbeat":
        broker_id, want_fence, want_shut_down = request
        known = context.image.brokers.get(broker_id)
        request = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=known.broker_epoch if known else 0,
            current_metadata_offset=context.next_offset - 1, want_fence=want_fence, want_shut_down=want_shut_down,
        )  # fmt: skip
        plan = plan_heartbeat
    try:
        result = plan(context, request)
    except KafkaError as refusal:
        return (), type(refusal)
    return result.records, result.response


@settings(max_examples=60)
@given(st.lists(st.tuples(REQUESTS, st.integers(0, 6_000)), max_size=25), st.integers(0, 2**32))
def test_a_controller_rebuilt_from_the_log_is_the_one_that_wrote_it(steps: list, seed: int) -> None:
    chance = random.Random(seed)
    live = Controller(EMPTY, SETTINGS, epoch=1)
    loader = MetadataLoader(EMPTY)
    next_offset, now_ms = 1, 0
    activation = ((plan_activation, False), 0)
    for (plan, request), wait_ms in [activation, *steps]:
        now_ms += wait_ms
        before = live.image
        records, _ = handled(plan, request, context_of(live, now_ms, chance, next_offset))
        assert live.image is before, "handling changes nothing"
        wire = []
        for record in records:
            out = bytearray()
            version = record_version(record)
            record.encode(out, version)
            decoded, _ = type(record).decode(memoryview(out), 0, version)
            assert decoded == record
            wire.append(decoded)
        for position, record in enumerate(records):
            live.replay(next_offset + position, record)
        if wire:
            last = next_offset + len(wire) - 1
            loader.replay(MetadataBatch(next_offset, last, 1, wire))
            next_offset = last + 1
        assert loader.image == live.image
    rebuilt = Controller(loader.image, SETTINGS, epoch=1)
    question = created("z", 2, 1, "1")
    answers = [
        handled(plan_create_topics, question, context_of(c, 0, random.Random(1), next_offset))
        for c in (live, rebuilt)
    ]
    assert answers[0] == answers[1]


def test_live_controllers_with_the_same_inputs_write_the_same_records() -> None:
    logs = []
    for _ in range(2):
        chance = random.Random(3)
        controller = Controller(EMPTY, SETTINGS, epoch=1)
        log: list[object] = []
        for plan, request in [
            (plan_activation, False),
            (plan_registration, registration(1, 1)),
            ("heartbeat", (1, False, False)),
            (plan_create_topics, created("a", 3, 1, "1")),
        ]:
            records, _ = handled(plan, request, context_of(controller, 0, chance, len(log)))
            for record in records:
                controller.replay(len(log), record)
                log.append(record)
        logs.append(log)
    assert logs[0] == logs[1]
    assert len(logs[0]) == 10
