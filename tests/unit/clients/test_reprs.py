"""What clients say they are, at a prompt and in a log."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Awaitable

import pytest

from millstream.clients import Admin, Consumer, Producer, RangeReader, ShareConsumer, blocking
from millstream.clients.admin import NewTopic, TopicListing
from millstream.clients.producer.core.producer_batch import BatchOutcome, ProducerBatch
from millstream.clients.producer.delivery import BatchDelivery, Delivery, Settlements
from millstream.clients.serdes.registry import SchemaRegistry
from millstream.errors import NotLeaderOrFollower
from millstream.model import TopicPartition, Uuid, uuid_from_text

SECRET = "open sesame"
LOGIN = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "ann",
    "sasl_password": SECRET,
}
AT = "bootstrap_servers='one:9092,two:9093'"


async def test_clients_are_neither_pickled_nor_copied() -> None:
    """Spark, multiprocessing and dataclasses try to, and were told of an entropy source without a state."""
    where = {"bootstrap_servers": "one"}
    clients = [
        Producer(**where),
        Consumer(**where),
        ShareConsumer(**where, group_id="g"),
        Admin(**where),
        RangeReader(**where),
    ]
    for client in clients:
        for take in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"a {type(client).__name__} cannot be pickled"):
                take(client)
        await client.close()
    with (
        blocking.Producer(**where) as producer,
        pytest.raises(TypeError, match="cannot be pickled"),
    ):
        pickle.dumps(producer)


async def test_clients_tell_their_name_and_their_brokers() -> None:
    where = {"bootstrap_servers": "one,two:9093", "client_id": "c"}
    producer = Producer(**where, transactional_id="orders-1")
    consumer = Consumer(**where, group_id="billing")
    share_consumer = ShareConsumer(**where, group_id="work")
    share_consumer.subscribe(["jobs"])
    admin, reader = Admin(**where), RangeReader(**where)
    assert repr(producer) == f"<Producer client_id='c' {AT} transactional_id='orders-1'>"
    assert repr(consumer) == f"<Consumer client_id='c' {AT} group_id='billing'>"
    assert (
        repr(share_consumer) == f"<ShareConsumer client_id='c' {AT} group_id='work' topics='jobs'>"
    )
    assert repr(admin) == f"<Admin client_id='c' {AT}>"
    assert repr(reader) == f"<RangeReader client_id='c' {AT}>"
    for client in (producer, consumer, share_consumer, admin, reader):
        await client.close()
        assert repr(client).endswith(" closed>")


async def test_a_client_without_a_name_tells_the_one_it_was_given() -> None:
    async with Admin(bootstrap_servers="one") as admin:
        assert repr(admin).startswith("<Admin client_id='adminclient-")


async def test_a_consumer_tells_what_it_reads() -> None:
    consumer = Consumer(bootstrap_servers="one,two:9093", client_id="c")
    consumer.assign([("t", number) for number in (10, 9, 2, 1, 3, 4, 0)])
    assert (
        repr(consumer)
        == f"<Consumer client_id='c' {AT} assignment='t-0,t-1,t-2,t-3,t-4 and 2 more'>"
    )
    await consumer.close()


def test_blocking_twins_are_told_from_the_others() -> None:
    where = {"bootstrap_servers": "one,two:9093", "client_id": "c"}
    with blocking.Producer(**where) as producer, blocking.Admin(**where) as admin:
        assert repr(producer) == f"<blocking.Producer client_id='c' {AT}>"
        assert repr(admin) == f"<blocking.Admin client_id='c' {AT}>"
    assert repr(producer) == f"<blocking.Producer client_id='c' {AT} closed>"


@pytest.mark.parametrize("kind", [Producer, Consumer, ShareConsumer, Admin, RangeReader])
async def test_no_client_tells_a_password(kind: type) -> None:
    settings = LOGIN | ({"group_id": "g"} if kind is ShareConsumer else {})
    client = kind(bootstrap_servers="one", **settings)
    assert SECRET not in repr(client)
    assert SECRET not in repr(client.config)
    closing: Awaitable[None] = client.close()
    await closing


async def test_a_schema_registry_does_not_tell_the_login_in_its_address() -> None:
    registry = SchemaRegistry(f"http://ann:{SECRET.replace(' ', '')}@host:8081/registry")
    assert repr(registry) == "<SchemaRegistry http://host:8081/registry>"


def batch() -> ProducerBatch:
    """Returns a batch of two records that came encoded, as those of an Arrow batch."""
    return ProducerBatch(TopicPartition("t", 3), (0,), created_ms=0, deadline_ms=1, record_count=2)


def test_a_delivery_tells_where_it_goes_and_what_became_of_it() -> None:
    sent = batch()
    delivery = Delivery(sent, 1, Settlements())
    assert repr(delivery) == "<Delivery to t-3: on its way>"
    sent.outcome = BatchOutcome(base_offset=40)
    assert repr(delivery) == "<Delivery to t-3: written at offset 41>"
    sent.outcome = BatchOutcome()  # acks=0
    assert repr(delivery) == "<Delivery to t-3: written>"
    assert repr(BatchDelivery([delivery, Delivery(batch(), 0, Settlements())])) == (
        "<BatchDelivery batches=2 done=1>"
    )


def test_an_error_that_is_only_shown_is_still_to_be_raised_by_flush() -> None:
    sent = batch()
    sent.outcome = BatchOutcome(error=NotLeaderOrFollower())
    assert (
        repr(Delivery(sent, 0, Settlements())) == "<Delivery to t-3: failed: NotLeaderOrFollower>"
    )
    assert not sent.error_seen


def test_ids_are_text_as_kafka_prints_them() -> None:
    topic_id = uuid_from_text("rIxdX3QTTbGxdX3QTTbGrA")
    assert str(topic_id) == "rIxdX3QTTbGxdX3QTTbGrA"
    assert repr(TopicListing("t", topic_id, is_internal=False)) == (
        "TopicListing(name='t', topic_id=Uuid(rIxdX3QTTbGxdX3QTTbGrA), is_internal=False)"
    )
    assert topic_id == bytes(topic_id)
    assert {bytes(topic_id): 1}[topic_id] == 1
    assert isinstance(pickle.loads(pickle.dumps(topic_id)), Uuid)


def test_new_topics_show_what_was_asked_for() -> None:
    assert repr(NewTopic("t", 3)).startswith("NewTopic(name='t', num_partitions=3,")
