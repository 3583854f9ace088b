"""Clients for asyncio: Producer, Consumer, ShareConsumer, Spout, ShareSpout, Admin.

`millstream.clients.blocking` has the same for plain code.

Names are loaded when they are used: who wants one client does not wait for all.
"""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.clients.admin import Admin, NewTopic
    from millstream.clients.consumer.consumer import Consumer
    from millstream.clients.consumer.core.errors import (
        CommitFailed,
        CorruptBatch,
        LogTruncation,
        NoOffsetForPartition,
        TopicDeleted,
        WakeupError,
    )
    from millstream.clients.consumer.core.interceptors import ConsumerInterceptor
    from millstream.clients.consumer.fetch_collector import ArrowRecords
    from millstream.clients.consumer.range_reader import RangeReader
    from millstream.clients.core.illegal_state import ConcurrentUse, IllegalState
    from millstream.clients.core.serialization import RecordDeserializationError
    from millstream.clients.core.values import (
        ConsumerGroupMetadata,
        ConsumerRecord,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        RecordMetadata,
    )
    from millstream.clients.group.member import RebalanceListener
    from millstream.clients.producer.core.interceptors import ProducerInterceptor, ProducerRecord
    from millstream.clients.producer.core.partitioner import RoundRobinPartitioner
    from millstream.clients.producer.delivery import BatchDelivery, Delivery
    from millstream.clients.producer.producer import Producer
    from millstream.clients.producer.transaction.core.errors import (
        TransactionAborted,
        TransactionalProducerFailed,
        TransactionFailed,
    )
    from millstream.clients.producer.transaction.core.transaction import SharedTransaction
    from millstream.clients.properties_file import read_client_properties
    from millstream.clients.share.core.values import TopicIdPartition
    from millstream.clients.share.share_consumer import ShareConsumer
    from millstream.clients.spout.core.errors import TooManyFailures
    from millstream.clients.spout.core.retries import MessageId
    from millstream.clients.spout.message import SpoutHooks, SpoutMessage
    from millstream.clients.spout.share_spout import ShareSpout
    from millstream.clients.spout.spout import Spout
    from millstream.model import TopicPartition
    from millstream.protocol.enums import AcknowledgeType
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.clients.admin": "Admin NewTopic",
            "millstream.clients.consumer.consumer": "Consumer",
            "millstream.clients.consumer.core.interceptors": "ConsumerInterceptor",
            "millstream.clients.consumer.core.errors": "CommitFailed CorruptBatch LogTruncation NoOffsetForPartition TopicDeleted WakeupError",
            "millstream.clients.producer.core.interceptors": "ProducerInterceptor ProducerRecord",
            "millstream.clients.core.illegal_state": "ConcurrentUse IllegalState",
            "millstream.clients.producer.core.partitioner": "RoundRobinPartitioner",
            "millstream.clients.core.serialization": "RecordDeserializationError",
            "millstream.clients.share.core.values": "TopicIdPartition",
            "millstream.clients.producer.transaction.core.errors": "TransactionAborted TransactionalProducerFailed TransactionFailed",
            "millstream.clients.producer.transaction.core.transaction": "SharedTransaction",
            "millstream.clients.properties_file": "read_client_properties",
            "millstream.clients.core.values": "ConsumerGroupMetadata ConsumerRecord OffsetAndMetadata OffsetAndTimestamp RecordMetadata",
            "millstream.clients.producer.delivery": "BatchDelivery Delivery",
            "millstream.clients.group.member": "RebalanceListener",
            "millstream.clients.producer.producer": "Producer",
            "millstream.clients.consumer.range_reader": "RangeReader",
            "millstream.clients.consumer.fetch_collector": "ArrowRecords",
            "millstream.clients.share.share_consumer": "ShareConsumer",
            "millstream.clients.spout.core.errors": "TooManyFailures",
            "millstream.clients.spout.core.retries": "MessageId",
            "millstream.clients.spout.message": "SpoutHooks SpoutMessage",
            "millstream.clients.spout.share_spout": "ShareSpout",
            "millstream.clients.spout.spout": "Spout",
            "millstream.model": "TopicPartition",
            "millstream.protocol.enums": "AcknowledgeType",
        },
    )

__all__ = [
    "AcknowledgeType",
    "Admin",
    "ArrowRecords",
    "BatchDelivery",
    "CommitFailed",
    "ConcurrentUse",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "CorruptBatch",
    "Delivery",
    "IllegalState",
    "LogTruncation",
    "MessageId",
    "NewTopic",
    "NoOffsetForPartition",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Producer",
    "ProducerInterceptor",
    "ProducerRecord",
    "RangeReader",
    "RebalanceListener",
    "RecordDeserializationError",
    "RecordMetadata",
    "RoundRobinPartitioner",
    "ShareConsumer",
    "ShareSpout",
    "SharedTransaction",
    "Spout",
    "SpoutHooks",
    "SpoutMessage",
    "TooManyFailures",
    "TopicDeleted",
    "TopicIdPartition",
    "TopicPartition",
    "TransactionAborted",
    "TransactionFailed",
    "TransactionalProducerFailed",
    "WakeupError",
    "read_client_properties",
]
