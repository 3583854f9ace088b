"""Names of kafka-python, aiokafka, confluent-kafka and Java's clients, and what they are in these clients.

Java's settings that these clients do not have are in clients.config; those of kafka-python, aiokafka and
librdkafka in `client_settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_RESULT = "result(timeout_ms=...) of a blocking producer; of an asyncio one await the delivery"
_CALLBACK = "the argument on_delivery= of send"
_OPENED = "not needed: connections are made when they are used"
_CLOSED = "close, or the end of a with block"
_CREDENTIALS = "not there: make another client with the new credentials"
_CLUSTER = "describe_cluster of Admin"
_SECONDS = "write timeout_ms=, in milliseconds"
_CONNECTED = "not there: the first call that fails says why"

NAMES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "PlacedRecord": {
            "get": _RESULT,
            "value": _RESULT,
            "exception": f"raised by {_RESULT}",
            "done": "is_done",
            "succeeded": f"is_done, and {_RESULT} raises nothing",
            "failed": f"is_done, and {_RESULT} raises the error",
            "retriable": "not needed: what may be tried again is, up to delivery_timeout_ms",
            "add_callback": _CALLBACK,
            "add_errback": f"{_CALLBACK}, which is given the error, too",
            "add_both": _CALLBACK,
            "add_done_callback": _CALLBACK,
            "chain": _CALLBACK,
            "success": _CALLBACK,
            "failure": _CALLBACK,
            "error_on_callbacks": _CALLBACK,
            "args": "what result gives: topic, partition, offset, timestamp_ms",
            "rebind": "not needed: a delivery knows its record",
        },
        "BatchDelivery": {
            "get": _RESULT,
            "done": "is_done",
            "add_callback": "result(), or await",
        },
        "Producer": {
            "produce": "send(topic, value, key=...)",
            "produce_batch": "send for each record, or send_batch with a batch of pyarrow",
            "poll": "not needed: callbacks run by themselves",
            "purge": "close: what cannot be sent in its time fails",
            "send_and_wait": "await (await send(...))",
            "create_batch": "send_batch(topic, pyarrow.RecordBatch)",
            "start": _OPENED,
            "stop": _CLOSED,
            "partitions_for_topic": "partitions_for",
            "list_topics": "list_topics or describe_topics of Admin",
            "metrics": "not there: on_delivery= tells of each record, Consumer.metrics of lag",
            "max_usable_produce_magic": "not needed: records have the one format that Kafka 4 has",
            "cluster_id": _CLUSTER,
            "bootstrap_connected": _CONNECTED,
            "set_sasl_credentials": _CREDENTIALS,
        },
        "Consumer": {
            "consume": "poll(max_records=n, timeout_ms=...), a list",
            "getone": "poll(max_records=1, timeout_ms=...), or async for",
            "getmany": "poll(max_records=n, timeout_ms=...), a list",
            "start": _OPENED,
            "stop": _CLOSED,
            "topics": "list_topics of Admin",
            "list_topics": "list_topics or describe_topics of Admin",
            "partitions_for_topic": "partitions_for",
            "highwater": "high_watermark",
            "last_stable_offset": "end_offsets of a consumer with isolation_level=read_committed",
            "last_poll_timestamp": "not there: heartbeats and max_poll_interval_ms look after it",
            "seek_to_committed": "committed, then seek",
            "get_watermark_offsets": "beginning_offsets and end_offsets",
            "store_offsets": "commit({partition: offset}): positions move when a record is returned",
            "consumer_group_metadata": "group_metadata",
            "commit_sync": "commit",
            "current_lag": "lag",
            "memberid": "group_metadata",
            "incremental_assign": "assign, with all partitions",
            "incremental_unassign": "assign, with the partitions that stay",
            "unassign": "unsubscribe, or assign([])",
            "bootstrap": _CONNECTED,
            "bootstrap_connected": _CONNECTED,
            "cluster_id": _CLUSTER,
            "set_sasl_credentials": _CREDENTIALS,
        },
        "Admin": {
            "alter_configs": "incremental_alter_configs",
            "reset_configs": "incremental_alter_configs with AlterOperation.DELETE",
            "alter_group_offsets": "alter_consumer_group_offsets",
            "reset_group_offsets": "list_offsets, then alter_consumer_group_offsets",
            "delete_group_offsets": "delete_consumer_group_offsets",
            "list_group_offsets": "list_consumer_group_offsets",
            "list_partition_offsets": "list_offsets",
            "remove_group_members": "remove_members_from_consumer_group",
            "describe_topic_partitions": "describe_topics",
            "wait_for_topics": "not needed: create_topics returns when the topics are there",
            "api_versions": "describe_api_versions",
            "get_broker_version_data": "not needed: versions are agreed with each broker",
            "start": _OPENED,
            "stop": _CLOSED,
            "poll": "not needed: every call waits for its answer",
            "cluster_id": "describe_cluster",
            "set_sasl_credentials": _CREDENTIALS,
        },
    }
)
"""By class, then by name."""

OF_NEW_TOPIC: Final[Mapping[str, str]] = MappingProxyType(
    {
        "topic": "write name=",
        "config": "write configs=",
        "topic_configs": "write configs=",
        "replica_assignment": "write assignments=",
        "replica_assignments": "write assignments=",
    }
)
"""Arguments of a topic that is to be created."""

_BY_TIME: Final = "not taken: max_block_ms of the producer is its limit"
_LISTENER: Final = "write listener=, an object of RebalanceListener"
_OFFSETS: Final = "write offsets={TopicPartition(topic, partition): the next offset}"
_NO_METADATA: Final = "not needed: the answer has it"
_IN_TRANSACTION: Final[Mapping[str, str]] = MappingProxyType({"timeout": _BY_TIME})

ARGUMENTS: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "Consumer": {
            "poll": {
                "num_messages": "write max_records=",
                "max_poll_records": "write max_records=",
                "update_offsets": "not needed: positions move when a record is returned",
            },
            "assign": {"topic_partitions": "write partitions="},
            "subscribe": {
                "on_assign": _LISTENER,
                "on_revoke": _LISTENER,
                "on_lost": _LISTENER,
                "callback": _LISTENER,
                "topic": 'write topics=["orders"]',
            },
            "commit": {
                "message": _OFFSETS,
                "asynchronous": "commit waits, commit_async does not",
                "callback": "it is an argument of commit_async",
            },
            "commit_async": {"on_commit": "write callback="},
            "committed": {"partition": "write partitions=", "metadata": _NO_METADATA},
            "offsets_for_times": {"timestamps_to_search": "write timestamps_ms="},
            "position": {},
            "metrics": {},
            "beginning_offsets": {},
            "end_offsets": {},
            "partitions_for": {},
            "close": {"autocommit": "write commit="},
        },
        "ShareConsumer": {
            "poll": {"num_messages": "write max_records="},
            "subscribe": {"topic": 'write topics=["orders"]'},
            "commit": {},
            "close": {},
        },
        "Producer": {
            "send_batch": {"batch": "write records=, a batch of pyarrow"},
            "flush": {},
            "init_transactions": _IN_TRANSACTION,
            "begin_transaction": _IN_TRANSACTION,
            "commit_transaction": _IN_TRANSACTION,
            "abort_transaction": _IN_TRANSACTION,
            "send_offsets_to_transaction": {
                "positions": "write offsets=",
                "consumer_group_id": "write group_metadata=, of consumer.group_metadata()",
                "group_id": "write group_metadata=, of consumer.group_metadata()",
                **_IN_TRANSACTION,
            },
            "close": {},
        },
        "BatchDelivery": {"result": {}},
        "Admin": {
            name: {"operation_timeout": _SECONDS, "request_timeout": _SECONDS, **others}
            for name, others in {
                "create_topics": {"new_topics": "write topics="},
                "delete_topics": {},
                "create_partitions": {
                    "new_partitions": "write totals=, how many there are to be of each topic",
                    "topic_partitions": "write totals=, how many there are to be of each topic",
                },
                "describe_topics": {"topic_names": "write topics="},
                "describe_configs": {"config_resources": "write resources="},
                "incremental_alter_configs": {
                    "resources": "write changes=",
                    "config_resources": "write changes=",
                },
                "list_offsets": {
                    "topic_partition_offsets": "write timestamps=",
                    "isolation_level": "write read_committed=",
                },
                "delete_records": {
                    "records_to_delete": "write before=",
                    "topic_partition_offsets": "write before=",
                },
                "list_consumer_group_offsets": {
                    "group_id": "write groups=",
                    "list_consumer_group_offsets_request": "write groups=",
                },
                "alter_consumer_group_offsets": {
                    "alter_consumer_group_offsets_request": "write group_id= and offsets=",
                },
                "create_acls": {"acls": "write bindings="},
                "delete_acls": {
                    "acl_filters": "write filters=",
                    "acl_binding_filters": "write filters=",
                },
                "describe_acls": {"acl_binding_filter": "write acl_filter="},
            }.items()
        },
    }
)
"""By class, method and argument. The methods that are named explain every argument; those that are called for each
record, as `send`, are not."""

POSITIONAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Consumer": 'Consumer(bootstrap_servers=..., group_id=...), then subscribe(["orders"])',
        "ShareConsumer": 'ShareConsumer(bootstrap_servers=..., group_id=...), then subscribe(["orders"])',
        "Producer": 'Producer(bootstrap_servers=...), then send("orders", value)',
        "Admin": "Admin(bootstrap_servers=...)",
    }
)
"""By class: the call to write in place of one with arguments by position."""

CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AIOKafkaClient": "Admin",
        "AIOKafkaConsumer": "Consumer",
        "AIOKafkaProducer": "Producer",
        "AdminClient": "Admin",
        "AvroSerializer": "a serde of millstream.clients.serdes.registry",
        "ConsumerRebalanceListener": "RebalanceListener",
        "DeserializingConsumer": "Consumer, with key_deserializer= and value_deserializer=",
        "DeserializingShareConsumer": "ShareConsumer, with key_deserializer= and value_deserializer=",
        "JSONSerializer": "a serde of millstream.clients.serdes.registry",
        "KafkaAdminClient": "Admin; millstream.clients.blocking has the one without asyncio",
        "KafkaConsumer": "Consumer; millstream.clients.blocking has the one without asyncio",
        "KafkaError": "millstream.errors.KafkaError",
        "KafkaException": "millstream.errors.KafkaError",
        "KafkaProducer": "Producer; millstream.clients.blocking has the one without asyncio",
        "KafkaShareConsumer": "ShareConsumer",
        "Message": "ConsumerRecord: value, key and offset are attributes",
        "ProtobufSerializer": "a serde of millstream.clients.serdes.registry",
        "SchemaRegistryClient": "millstream.clients.serdes.registry.SchemaRegistry",
        "SerializingProducer": "Producer, with key_serializer= and value_serializer=",
    }
)
"""Names of the packages."""
