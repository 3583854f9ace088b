"""Image and delta against a naive model that is rebuilt from all records every time."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.model import LeaderEpoch, Offset, Uuid
from millstream.protocol.generated.metadata_records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

NAMES = ("a", "b", "c")


@dataclass
class Model:
    """Plain dicts, no sharing: topic name -> partition -> (leader, isr, leader epoch, partition epoch)."""

    ids: dict[str, bytes] = field(default_factory=dict)
    topics: dict[str, dict[int, tuple[int, tuple[int, ...], int, int]]] = field(
        default_factory=dict
    )
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    used: int = 0


def draw_step(model: Model, draw: st.DrawFn) -> list[MetadataRecord]:
    name = draw(st.sampled_from(NAMES))
    if name not in model.topics:
        model.used += 1
        topic_id = model.used.to_bytes(16, "big")
        count = draw(st.integers(0, 3))
        model.ids[name] = topic_id
        model.topics[name] = dict.fromkeys(range(count), (1, (1, 2), 0, 0))
        created = [
            PartitionRecord(
                partition_id=n,
                topic_id=Uuid(topic_id),
                replicas=[1, 2],
                isr=[1, 2],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
            )
            for n in range(count)
        ]
        return [TopicRecord(name=name, topic_id=Uuid(topic_id)), *created]
    topic_id = Uuid(model.ids[name])
    action = draw(st.sampled_from(["remove", "leader", "isr", "grow", "config"]))
    partitions = model.topics[name]
    if action == "remove":
        del model.topics[name], model.ids[name]
        model.configs.pop(name, None)
        return [RemoveTopicRecord(topic_id=topic_id)]
    if action == "config":
        value = draw(st.sampled_from(["1", "2", None]))
        config = model.configs.setdefault(name, {})
        config.pop("k", None)
        if value is not None:
            config["k"] = value
        return [ConfigRecord(resource_type=2, resource_name=name, name="k", value=value)]
    if action == "grow" or not partitions:
        number = len(partitions)
        partitions[number] = (1, (1,), 0, 0)
        return [
            PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
            )
        ]
    number = draw(st.integers(0, len(partitions) - 1))
    leader, isr, leader_epoch, partition_epoch = partitions[number]
    if action == "leader":
        new = draw(st.sampled_from([-1, 1, 2]))
        partitions[number] = (new, isr, leader_epoch + 1, partition_epoch + 1)
        return [PartitionChangeRecord(partition_id=number, topic_id=topic_id, leader=new)]
    partitions[number] = (leader, (2,), leader_epoch, partition_epoch + 1)
    return [PartitionChangeRecord(partition_id=number, topic_id=topic_id, isr=[2])]


def as_model(image: MetadataImage) -> tuple[object, object, object]:
    topics = {
        t.name: {
            p.partition: (p.leader, p.isr, p.leader_epoch, p.partition_epoch) for p in t.partitions
        }
        for t in image.topics
    }
    configs = {resource.name: dict(config) for resource, config in image.configs.items()}
    return {t.name: t.topic_id for t in image.topics}, topics, configs


@given(st.data())
def test_any_split_into_deltas_gives_the_naive_model(data: st.DataObject) -> None:
    model, image, every = Model(), MetadataImage(), []
    for _ in range(data.draw(st.integers(0, 6))):
        delta = MetadataDelta(image)
        for _ in range(data.draw(st.integers(0, 5))):
            for record in draw_step(model, data.draw):
                delta.replay(record)
                every.append(record)
        image = delta.image(Offset(image.offset + 1), LeaderEpoch(0))
        expected = (model.ids, model.topics, {n: c for n, c in model.configs.items() if c})
        assert as_model(image) == expected
        assert set(image.topics.by_id) == set(model.ids.values())
    at_once = MetadataDelta(MetadataImage())
    for record in every:
        at_once.replay(record)
    assert at_once.image(image.offset, image.epoch) == image or not every
