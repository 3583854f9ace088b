"""Every setting of the clients, a module per client."""

from millstream.clients.config.admin import AdminConfig, AdminSettings
from millstream.clients.config.client import WAIT_FOR_EVER_MS, ClientConfig, ClientSettings
from millstream.clients.config.consumer import ConsumerConfig, ConsumerSettings
from millstream.clients.config.producer import ProducerConfig, ProducerSettings
from millstream.clients.config.share import ShareConsumerConfig, ShareConsumerSettings

__all__ = [
    "AdminConfig",
    "AdminSettings",
    "ClientConfig",
    "ClientSettings",
    "ConsumerConfig",
    "ConsumerSettings",
    "ProducerConfig",
    "ProducerSettings",
    "ShareConsumerConfig",
    "ShareConsumerSettings",
    "WAIT_FOR_EVER_MS",
]
