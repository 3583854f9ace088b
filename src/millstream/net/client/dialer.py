"""Makes a connection: name to addresses, TCP, TLS, versions, SASL. Errors say which of these failed and why."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from millstream import __version__
from millstream.errors import KafkaError, NetworkException, RequestTimedOut
from millstream.net.client.config.connection import ConnectionConfig
from millstream.net.client.connection import Authenticator, Connection, ConnectionOptions
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.first_contact import FirstContact
from millstream.net.client.core.traffic import Traffic
from millstream.net.network import Environment, Network, ResolvedAddress, SocketBuffers

if TYPE_CHECKING:
    import socket
    import ssl


class NotConnected(NetworkException):
    """There is no connection and the reason is certain: the address refuses, its name is not known, no way leads there.

    Silence is not certain: it is a RequestTimedOut.
    """


class _Protocol(asyncio.BufferedProtocol):
    """A connection as asyncio sees it, which asks for a class of its own; a compiled one inherits from no other."""

    def __init__(self, connection: Connection) -> None:
        for called in ("connection_made", "connection_lost", "get_buffer", "buffer_updated"):
            setattr(self, called, getattr(connection, called))


class Dialer:
    def __init__(
        self,
        options: ConnectionOptions,
        network: Network,
        buffers: SocketBuffers,
        tls: ssl.SSLContext | None,
        authenticator: Authenticator | None,
    ) -> None:
        self._options = options
        self._network = network
        self._buffers = buffers
        self._tls = tls
        self._authenticator = authenticator

    @property
    def client_id(self) -> str:
        """The name of the client for brokers and in the log."""
        return self._options.client_id

    def use_tls(self, context: ssl.SSLContext) -> None:
        """Makes the next connections with another context."""
        self._tls = context

    async def dial(self, address: Address, timeout_ms: int) -> Connection:
        """Connected, versions agreed, authenticated. Every IP address of the host has a try, in their order.

        `timeout_ms` is for each try up to the versions. Raises NetworkException, RequestTimedOut or what refuses us for
        good: SslAuthenticationFailed, SaslAuthenticationFailed, UnsupportedSaslMechanism, IllegalSaslState,
        WrongListener.
        """
        failure: KafkaError | None = None
        for endpoint in await self._endpoints(address):
            try:
                connection = await self._try(address, endpoint, timeout_ms)
            except (NetworkException, RequestTimedOut) as error:
                if failure is None or isinstance(failure, NotConnected):
                    failure = error  # what may yet be reached counts more than what cannot
                continue
            try:
                await connection.authenticate()
            except BaseException:
                await connection.close()
                raise
            return connection
        assert failure is not None, "a name that resolves has addresses"
        raise failure

    async def _endpoints(self, address: Address) -> list[ResolvedAddress]:
        try:
            return await self._network.resolve(address.host, address.port)
        except (OSError, UnicodeError) as error:
            raise NotConnected(
                f"cannot connect to {address}: its name cannot be resolved ({error})"
            ) from error

    async def _try(
        self, address: Address, endpoint: ResolvedAddress, timeout_ms: int
    ) -> Connection:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                sock = await self._network.connect(endpoint, self._buffers)
                connection = await self._speaking(sock, address)
                try:
                    await connection.negotiate_versions()
                except BaseException:
                    await connection.close()
                    raise
        except TimeoutError as error:
            raise RequestTimedOut(f"no answer from {address} within {timeout_ms} ms") from error
        except ConnectionRefusedError as error:
            raise NotConnected(
                f"cannot connect to {address}: refused; nothing listens there"
            ) from error
        except OSError as error:
            raise NotConnected(f"cannot connect to {address}: {error}") from error
        return connection

    async def _speaking(self, sock: socket.socket, address: Address) -> Connection:
        loop = asyncio.get_running_loop()

        connection = Connection(self._options, address, self._authenticator)

        def make() -> asyncio.BaseProtocol:
            return _Protocol(connection)

        try:
            if self._tls is None:
                await loop.create_connection(make, sock=sock)
            else:
                await loop.create_connection(
                    make, sock=sock, ssl=self._tls, server_hostname=address.host
                )
        except OSError as error:
            sock.close()
            if self._tls is None or isinstance(error, TimeoutError):
                raise
            from millstream.net.client.tls import tls_failure

            failure = tls_failure(address, error)
            raise self._options.first_contact.judge(failure, int(loop.time() * 1000)) from error
        except BaseException:
            sock.close()
            raise
        return connection


def dialer_for(
    config: ConnectionConfig,
    traffic: Traffic,
    environment: Environment,
    first_contact: FirstContact | None = None,
) -> Dialer:
    """Makes the dialer for the settings of a client. Without `first_contact` no listener is believed to be a wrong one.

    Raises ConfigError when certificates cannot be read or credentials are missing.
    """
    tls = None
    if config.security_protocol.endswith("SSL"):
        from millstream.net.client.tls import tls_context

        tls = tls_context(config)
    options = ConnectionOptions(
        client_id=config.client_id,
        request_timeout_ms=config.request_timeout_ms,
        frame_bytes_max=config.receive_message_bytes_max,
        software_version=__version__,
        security_protocol=config.security_protocol,
        idle_ms_max=config.connections_max_idle_ms,
        traffic=traffic,
        first_contact=first_contact or FirstContact(is_over=True),
    )
    buffers = SocketBuffers(config.send_buffer_bytes, config.receive_buffer_bytes)
    return Dialer(options, environment.network, buffers, tls, _authenticator(config, environment))


def _authenticator(config: ConnectionConfig, environment: Environment) -> Authenticator | None:
    """None where the client does not log in: nothing of logins is loaded then."""
    if config.sasl_mechanism is None and not config.security_protocol.startswith("SASL"):
        return None
    from millstream.net.client.authentication import SaslAuthenticator
    from millstream.net.client.bearer_tokens import BearerTokens
    from millstream.net.client.core.credentials import Password, credentials_from

    credentials = credentials_from(config)
    if credentials is None:
        return None
    tokens = None
    if not isinstance(credentials, Password):
        tokens = BearerTokens(credentials, config, environment.clock, environment.random)
    return SaslAuthenticator(credentials, tokens, environment.random)


async def canonical_addresses(addresses: tuple[Address, ...], network: Network) -> list[Address]:
    """Returns each IP address of each name, by its canonical name (client_dns_lookup, KIP-235);
    names that fail stay.
    """
    found: dict[Address, None] = {}
    for address in addresses:
        try:
            for endpoint in await network.resolve(address.host, address.port):
                name = await network.canonical_name(endpoint)
                found[Address(name, address.port)] = None
        except (OSError, UnicodeError):
            found[address] = None
    return list(found)
