"""A node with TLS and logins in a process of its own, the bystander beside it, and the attackers, each of them processes too."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from millstream.clients.admin import NewTopic, UpsertScramCredential
from millstream.clients.blocking import Admin
from millstream.security.scram import ScramMechanism
from millstream.testing.broker import TEST_SETTINGS
from tests.floods.bystander import PASSWORD, TOPIC, USER
from tests.integration.clients.security.certificates import Authority
from tests.support.attacks import AnsweringProcess
from tests.support.sasl_node import free_ports

COSTLY_USER: Final = "costly"
_ITERATIONS_MAX: Final = 16_384
"""Of what Kafka lets be stored."""
_SECURE, _LOGIN, _OPEN, _BROKERS = "SASL_SSL", "SASL_PLAINTEXT", "OPEN", "BROKERS"


@dataclass(frozen=True)
class Attacker:
    """A process of a flood: its module in `tests.floods`, and its arguments."""

    module: str
    arguments: tuple[str, ...]


class FloodedNode:
    """A context manager. `directory` takes the node's data, its certificates, and what all of them wrote to standard error."""

    def __init__(
        self, directory: Path, settings: Mapping[str, str] | None = None, rest_s: float = 0.01
    ) -> None:
        self._directory = directory
        self._rest_s = rest_s
        authority = Authority(directory)
        self.authority = authority.path
        addresses = free_ports(_SECURE, _LOGIN, _OPEN, _BROKERS)
        self._addresses = {name: f"127.0.0.1:{port}" for name, port in addresses}
        self._settings = {
            **TEST_SETTINGS,
            "log.dirs": str(directory / "data"),
            "listeners": ",".join(f"{name}://{at}" for name, at in self._addresses.items()),
            "listener.security.protocol.map": f"{_SECURE}:{_SECURE},{_LOGIN}:{_LOGIN},{_OPEN}:PLAINTEXT,{_BROKERS}:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": _BROKERS,
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(authority.issue("node")),
            **(settings or {}),
        }
        self._stack = contextlib.ExitStack()
        self._node: AnsweringProcess
        self.bystander: AnsweringProcess

    @property
    def secure(self) -> str:
        """Where clients log in over TLS."""
        return self._addresses[_SECURE]

    @property
    def login(self) -> str:
        """Where they log in without TLS."""
        return self._addresses[_LOGIN]

    @property
    def open(self) -> str:
        """Where everybody is served."""
        return self._addresses[_OPEN]

    @property
    def log(self) -> str:
        return (self._directory / "node.log").read_text(errors="replace")

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._node.pid)

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            overrides = [
                word
                for key, value in self._settings.items()
                for word in ("--override", f"{key}={value}")
            ]
            self._node = self._start(
                stack, "node", "millstream.cli.main", "server", "--until-end-of-input", *overrides
            )
            ready = self._node.line()
            assert ready.startswith("millstream ready "), self.log
            self._prepare()
            echo = self._start(stack, "echo", "tests.floods.echo").line()
            self.bystander = self._start(
                stack, "bystander", "tests.floods.bystander", self.secure, str(self.authority), echo, str(self._rest_s)
            )  # fmt: skip
            assert self.bystander.line() == "ready"
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def flood(
        self, attackers: Sequence[Attacker], nice: int = 0
    ) -> Iterator[list[AnsweringProcess]]:
        """The attackers attack while this lasts. With `nice` they take of the processors what nobody else wants."""
        with contextlib.ExitStack() as stack:
            started = [
                self._start(stack, f"attacker-{number}", each.module, *each.arguments)
                for number, each in enumerate(attackers)
            ]
            for process in started:
                assert process.line() == "ready"
                psutil.Process(process.pid).nice(psutil.Process().nice() + nice)
            yield started

    def _prepare(self) -> None:
        with Admin(bootstrap_servers=self.open) as admin:
            credentials = [
                UpsertScramCredential(USER, ScramMechanism.SCRAM_SHA_256, PASSWORD, 4_096),
                UpsertScramCredential(COSTLY_USER, ScramMechanism.SCRAM_SHA_512, "secret", _ITERATIONS_MAX),
            ]  # fmt: skip
            admin.alter_user_scram_credentials(credentials).raise_errors()
            admin.create_topics([NewTopic(TOPIC, num_partitions=1, replication_factor=1)])

    def _start(
        self, stack: contextlib.ExitStack, name: str, module: str, *arguments: str
    ) -> AnsweringProcess:
        errors = stack.enter_context((self._directory / f"{name}.log").open("wb"))
        process = AnsweringProcess(module, *arguments, errors=errors)
        stack.callback(process.stop)
        return process


def raise_descriptor_limit(wanted: int) -> int:
    """Lets this process and those that it starts open so many files, as far as the system allows. Returns how many they may open."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, wanted), hard):
        with contextlib.suppress(ValueError, PermissionError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            break
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
