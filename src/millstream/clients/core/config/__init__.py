"""Every setting of the clients, a module per client."""

from millstream.clients.core.config.admin import AdminConfig, AdminSettings
from millstream.clients.core.config.client import ClientConfig, ClientSettings
from millstream.clients.core.config.consumer import ConsumerConfig, ConsumerSettings
from millstream.clients.core.config.producer import ProducerConfig, ProducerSettings
from millstream.clients.core.config.share import ShareConsumerConfig, ShareConsumerSettings

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
]
