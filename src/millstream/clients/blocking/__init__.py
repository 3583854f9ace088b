"""Clients for plain code and threads: the asyncio clients, driven by one loop thread per process."""

from millstream.clients.blocking.admin import Admin
from millstream.clients.blocking.consumer import Consumer, RangeReader, RebalanceListener
from millstream.clients.blocking.producer import BatchDelivery, Delivery, Producer
from millstream.clients.blocking.share_consumer import ShareConsumer
from millstream.clients.tasks import ForkedClient

__all__ = [
    "Admin",
    "BatchDelivery",
    "Consumer",
    "Delivery",
    "ForkedClient",
    "Producer",
    "RangeReader",
    "RebalanceListener",
    "ShareConsumer",
]
