"""The authorizer of a node, which follows the access rules of its metadata image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.requests.access import OPEN, Access
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import PublishedImage

if TYPE_CHECKING:
    from millstream.security.standard_authorizer import StandardAuthorizer


class NodeAuthorization:
    """Decides for all listeners of a node, as `authorizer.class.name` says.

    Without that everybody may do everything.
    """

    def __init__(self, config: BrokerConfig, is_loaded: Callable[[], bool]) -> None:
        """`is_loaded`: whether the metadata log has been applied up to what was committed.

        Before that only super users are answered.
        """
        self._authorizer: StandardAuthorizer | None = None
        self.access = OPEN
        if config.authorizer_class_name:
            from millstream.security.authorizer_settings import AuthorizerSettings
            from millstream.security.standard_authorizer import StandardAuthorizer

            self._authorizer = StandardAuthorizer(config.read(AuthorizerSettings), is_loaded)
            self.access = Access(self._authorizer)

    def load(self, image: MetadataImage) -> None:
        """Takes over the rules with which the node starts."""
        if self._authorizer is not None:
            self._authorizer.change(removed=(), added=image.acls.values())

    def apply(self, published: PublishedImage) -> None:
        acls = published.delta.security.acls
        if self._authorizer is not None and acls.changed:
            self._authorizer.change(removed=acls.replaced(), added=acls.put_values())
