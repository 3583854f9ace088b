"""Clients for asyncio: Producer, Consumer, ShareConsumer, Admin. `millstream.clients.blocking` has the same for plain code.

Names are loaded when they are used: who wants one client does not wait for all.
"""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.clients.admin import Admin, NewTopic
    from millstream.clients.consumer import Consumer
    from millstream.clients.consumer_interceptor import ConsumerInterceptor
    from millstream.clients.core.consumer_errors import (
        CommitFailed,
        CorruptBatch,
        LogTruncation,
        NoOffsetForPartition,
        WakeupError,
    )
    from millstream.clients.core.interceptors import ProducerInterceptor, ProducerRecord
    from millstream.clients.core.misuse import ConcurrentUse, IllegalState
    from millstream.clients.core.partitioner import RoundRobinPartitioner
    from millstream.clients.core.serialization import RecordDeserializationError
    from millstream.clients.core.share_values import AcknowledgeType, TopicIdPartition
    from millstream.clients.core.transaction_errors import (
        TransactionAborted,
        TransactionalProducerFailed,
        TransactionFailed,
    )
    from millstream.clients.core.values import (
        ConsumerGroupMetadata,
        ConsumerRecord,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        RecordMetadata,
    )
    from millstream.clients.delivery import BatchDelivery, Delivery
    from millstream.clients.member import RebalanceListener
    from millstream.clients.producer import Producer
    from millstream.clients.range_reader import RangeReader
    from millstream.clients.reading import ArrowRecords
    from millstream.clients.share_consumer import ShareConsumer
    from millstream.model import TopicPartition
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.clients.admin": "Admin NewTopic",
            "millstream.clients.consumer": "Consumer",
            "millstream.clients.consumer_interceptor": "ConsumerInterceptor",
            "millstream.clients.core.consumer_errors": "CommitFailed CorruptBatch LogTruncation NoOffsetForPartition WakeupError",
            "millstream.clients.core.interceptors": "ProducerInterceptor ProducerRecord",
            "millstream.clients.core.misuse": "ConcurrentUse IllegalState",
            "millstream.clients.core.partitioner": "RoundRobinPartitioner",
            "millstream.clients.core.serialization": "RecordDeserializationError",
            "millstream.clients.core.share_values": "AcknowledgeType TopicIdPartition",
            "millstream.clients.core.transaction_errors": "TransactionAborted TransactionalProducerFailed TransactionFailed",
            "millstream.clients.core.values": "ConsumerGroupMetadata ConsumerRecord OffsetAndMetadata OffsetAndTimestamp RecordMetadata",
            "millstream.clients.delivery": "BatchDelivery Delivery",
            "millstream.clients.member": "RebalanceListener",
            "millstream.clients.producer": "Producer",
            "millstream.clients.range_reader": "RangeReader",
            "millstream.clients.reading": "ArrowRecords",
            "millstream.clients.share_consumer": "ShareConsumer",
            "millstream.model": "TopicPartition",
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
    "TopicIdPartition",
    "TopicPartition",
    "TransactionAborted",
    "TransactionFailed",
    "TransactionalProducerFailed",
    "WakeupError",
]
