"""`SecureCluster`: the nodes of a `Cluster` with TLS, logins and access rules, as `millstream
cluster --secure` starts them.

with SecureCluster() as cluster:
    producer = Producer(**cluster.client_settings)
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from millstream.cli.cluster.layout import NodeLayout
from millstream.cli.cluster.secure_files import SecureFiles
from millstream.cli.secure.administrator import CLIENT_FILE
from millstream.cli.secure.stores import AUTHORITY_FILE
from millstream.testing.cluster import Cluster, NodeStateError
from millstream.testing.faults.links import NodeLinks


class SecureCluster(Cluster):
    """Nodes that know each other by certificates, and clients who log in.

    It is made and used as a `Cluster`, but for links, which are not cut: who speaks on them is encrypted.
    """

    _is_secure: ClassVar[bool] = True

    @property
    def client_settings(self) -> dict[str, Any]:  # Any: keyword arguments of a client
        """The keyword arguments with which every client connects, as the administrator:
        `Producer(**cluster.client_settings)`.
        """
        from millstream.clients import read_client_properties

        return read_client_properties(self.client_properties)

    @property
    def client_properties(self) -> Path:
        """The file with which the administrator logs in: `millstream acls list --config FILE`."""
        return self.data / CLIENT_FILE

    def cut(self, node: int, other: int, *, one_way: bool = False) -> None:
        """Raises NodeStateError: whose link it is stands in what is encrypted."""
        del node, other, one_way
        raise NodeStateError(
            "links of a SecureCluster cannot be cut: use Cluster, or pause and kill nodes"
        )

    def _open_links(self) -> NodeLinks:
        links = NodeLinks()
        links.__enter__()
        return links

    def _node_settings(self, node: NodeLayout) -> dict[str, str]:
        """With the ports of the layout: nodes reach each other without entrances."""
        return self._directory.node_settings(self._layout, node)

    def _controller_port(self, node: int) -> int:
        port = self._known(node).controller_port
        assert port is not None, "it is a controller"
        return port

    def _start_nodes(self, nodes: Sequence[NodeLayout]) -> None:
        super()._start_nodes(nodes)
        SecureFiles(self.data).ready(self._layout, is_new=False)

    def _tls_between_nodes(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.data / AUTHORITY_FILE)
        context.load_cert_chain(self.data / f"{self._layout.controllers[0].name}.pem")
        return context
