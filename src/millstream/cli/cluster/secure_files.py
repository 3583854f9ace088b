"""The files that make a cluster on this machine secure: its authority, a certificate of each node, and the
login of its administrator.

Clients log in by SCRAM over TLS. Nodes know each other by certificates: brokers at a listener of their own and
controllers at theirs, where nobody else is let in. SCRAM would not do between controllers, which know no users before
they have elected a leader.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Final

from millstream.cli.cluster.layout import (
    BROKER_LISTENER,
    CONTROLLER_LISTENER,
    HOST,
    LOGIN_LISTENER,
    OWN_KEYS,
    ClusterLayout,
    NodeLayout,
)
from millstream.cli.secure.administrator import (
    ACCESS_SETTINGS,
    ADMIN,
    CLIENT_FILE,
    TOKEN_KEY,
    Administrator,
)
from millstream.cli.secure.stores import AUTHORITY_FILE, Stores, store_settings

_NODE: Final = "node"
"""The name in the certificate of every node."""
_NODES: Final = f"User:CN={_NODE}"
"""Their principal, which may do everything. It is the whole name in the certificate: users who log in by
SCRAM are not called so by chance."""
_CERTIFICATE_REQUIRED: Final = "listener.name.{}.ssl.client.auth"
SECURE_KEYS: Final = OWN_KEYS | {
    *ACCESS_SETTINGS, *store_settings(Path(), Path()), "ssl.principal.mapping.rules", "super.users", TOKEN_KEY,
    *(_CERTIFICATE_REQUIRED.format(name.lower()) for name in (BROKER_LISTENER, CONTROLLER_LISTENER)),
}  # fmt: skip
"""Settings that nobody else may give to a secure cluster."""


class SecureFiles:
    """The files in the directory of a cluster."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.absolute()
        self._administrator = Administrator(self._directory / CLIENT_FILE)

    def begin(self, layout: ClusterLayout) -> tuple[str, ...]:
        """Makes everything. Returns the credentials with which nodes are formatted. Raises ConfigError and OSError."""
        self._administrator.prepare(self.prepare_stores(layout).authority_pem)
        return self._administrator.scram

    def prepare_stores(self, layout: ClusterLayout) -> Stores:
        """Makes the certificates that are missing, or near their end. Raises ConfigError and OSError."""
        stores = Stores(self._directory, dt.datetime.now(dt.UTC))
        for node in layout.nodes:
            stores.prepare(_store(node), _NODE, [HOST])
        return stores

    def ready(self, layout: ClusterLayout, *, is_new: bool) -> str:
        """Has the administrator's file lead to the cluster. Returns lines for the operator.

        Raises ConfigError and OSError.
        """
        self._administrator.point_to(layout.bootstrap)
        return self._administrator.told(is_new=is_new)

    def settings(self, layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
        """Returns the settings of a node that it has for being secure."""
        own = {
            "listener.security.protocol.map": f"{LOGIN_LISTENER}:SASL_SSL,{BROKER_LISTENER}:SSL,{CONTROLLER_LISTENER}:SSL",
            "authorizer.class.name": ACCESS_SETTINGS["authorizer.class.name"],
            **store_settings(self._directory / AUTHORITY_FILE, self._directory / _store(node)),
            "super.users": f"User:{ADMIN};{_NODES}",
            TOKEN_KEY: layout.token_secret,
            _CERTIFICATE_REQUIRED.format(CONTROLLER_LISTENER.lower()): "required",
        }
        if node.broker_port is not None:
            own |= ACCESS_SETTINGS  # nobody logs in by SASL at a controller
            own["inter.broker.listener.name"] = BROKER_LISTENER
            own[_CERTIFICATE_REQUIRED.format(BROKER_LISTENER.lower())] = "required"
        return own


def _store(node: NodeLayout) -> str:
    return f"{node.name}.pem"
