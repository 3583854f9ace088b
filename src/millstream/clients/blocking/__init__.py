"""Clients for plain code and threads: the asyncio clients, driven by one loop thread per process."""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.clients.blocking.admin import Admin
    from millstream.clients.blocking.consumer import Consumer, RangeReader, RebalanceListener
    from millstream.clients.blocking.producer import BatchDelivery, Delivery, Producer
    from millstream.clients.blocking.share_consumer import ShareConsumer
    from millstream.net.client.tasks import ForkedClient
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.clients.blocking.admin": "Admin",
            "millstream.clients.blocking.consumer": "Consumer RangeReader RebalanceListener",
            "millstream.clients.blocking.producer": "BatchDelivery Delivery Producer",
            "millstream.clients.blocking.share_consumer": "ShareConsumer",
            "millstream.net.client.tasks": "ForkedClient",
        },
    )

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
