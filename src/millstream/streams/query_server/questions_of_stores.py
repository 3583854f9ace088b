"""Answers one question: from the stores of this instance, or from the instance that the metadata names.

Where the question allows it, copies answer for an active task that cannot: those of other instances, or of this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from millstream.clients.serdes.json_text import read_exact_json
from millstream.streams.errors import StoreMigrated, StoreNotAvailable
from millstream.streams.host_info import HostInfo
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.query_server.forwarding import Answer, Forwarder
from millstream.streams.query_server.problems import HostUnavailable
from millstream.streams.query_server.questions import (
    KeyQuestion,
    QueriedApplication,
    RowsQuestion,
)
from millstream.streams.query_server.stores_here import Content, StoresHere
from millstream.streams.query_server.texts import as_json, key_of

_OK: Final = 200
_LOGGER = logging.getLogger(__name__)


class QuestionsOfStores:
    """Answers questions of one application.

    `partitioners`: by store, for keys that another one than Kafka's partitioner has spread.
    """

    def __init__(
        self,
        application: QueriedApplication,
        forwarder: Forwarder,
        partitioners: Mapping[str, Partitioner],
    ) -> None:
        self._application = application
        self._here = StoresHere(application)
        self._forwarder = forwarder
        self._partitioners = partitioners
        self._own = HostInfo.parsed(application.config.application_server)

    async def of_key(self, question: KeyQuestion) -> Answer:
        """Answers from the partition of the key, wherever it is; the active task goes before
        copies, and the copy here before others.
        """
        store = question.store
        key = key_of(question.key, self._here.key_serde(store))
        found = await self._application.query_metadata_for_key(
            store, key, partitioner=self._partitioners.get(store)
        )
        if found.partition < 0 and not self._here.is_global(store):
            raise StoreNotAvailable(f"the hosts of store {store} are not known yet: ask again")
        hosts = [self._own] if question.is_forwarded else self._hosts(found, question.max_lag)
        if not hosts:
            raise StoreNotAvailable(
                f"no instance is known to have the key in store {store} now: ask again"
            )
        for host in hosts[:-1]:
            try:
                return await self._of_key_at(host, question, key, found)
            except (HostUnavailable, StoreMigrated, StoreNotAvailable) as error:
                _LOGGER.info("a copy is asked for a key of store %s: %s", store, error)
        return await self._of_key_at(hosts[-1], question, key, found)

    def _hosts(self, found: KeyQueryMetadata[HostInfo], max_lag: int | None) -> list[HostInfo]:
        active = [] if found.active_host is None else [found.active_host]
        if max_lag is None:
            return active
        return active + [each for each in self._copies(found) if each not in active]

    def _copies(self, found: KeyQueryMetadata[HostInfo]) -> list[HostInfo]:
        """Returns the hosts of copies, this one first.

        Without any it is the active one, whose stores may be on their way to be restored.
        """
        if found.standby_hosts:
            return sorted(found.standby_hosts, key=lambda each: (each != self._own, str(each)))
        return [] if found.active_host is None else [found.active_host]

    async def _of_key_at(
        self,
        host: HostInfo,
        question: KeyQuestion,
        key: object,
        found: KeyQueryMetadata[HostInfo],
    ) -> Answer:
        if host != self._own:
            return await self._forwarder.ask(host, question.path)
        only = None if found.partition < 0 else found.partition
        by_copy = self._own in self._copies(found)
        return Answer(_OK, as_json(await self._here.of_key(question, key, only, by_copy=by_copy)))

    async def of_rows(self, question: RowsQuestion) -> Answer:
        """Answers from all partitions, wherever they are, one after another.

        Raises HostUnavailable where one of them is missing.
        """
        mine = await self._here.of_rows(question)
        if question.is_forwarded:
            return Answer(_OK, as_json(mine))
        found, copied = [mine], list[Content]()
        if not self._here.is_global(question.store):
            hosts = self._application.streams_metadata_for_store(question.store)
            found += await self._rows_of_active(question, hosts)
            if question.max_lag is not None:
                copied = await self._rows_of_copies(question, _partitions(found))
            await self._require_all(question.store, _partitions(found + copied))
        rows = [row for each in found + copied for row in each["rows"]]
        content: Content = {
            "store": question.store,
            "partitions": sorted(_partitions(found + copied)),
            "rows": rows[: question.limit],
            "is_cut": len(rows) > question.limit or any(each["is_cut"] for each in found + copied),
        }
        if question.max_lag is not None:
            content["is_stale"] = bool(copied)
        return Answer(_OK, as_json(content))

    async def _rows_of_active(
        self, question: RowsQuestion, hosts: Iterable[StreamsMetadata[HostInfo]]
    ) -> list[Content]:
        """Returns what other instances have. Where copies may answer, one that is away is left to them."""
        found = []
        for host in hosts:
            if host.host == self._own or question.store not in host.state_store_names:
                continue
            try:
                found.append(await self._rows_at(host.host, question.path))
            except HostUnavailable as error:
                if question.max_lag is None:
                    raise
                _LOGGER.info("copies are asked for rows of store %s: %s", question.store, error)
        return found

    async def _rows_of_copies(self, question: RowsQuestion, present: list[int]) -> list[Content]:
        """Returns rows of the partitions that no active task has answered for; what is missing in
        the end is told by others.
        """
        found: list[Content] = []
        store = question.store
        for partition in sorted(set(range(await self._count(store))) - set(present)):
            place = await self._place(store, partial(_chosen, partition))
            for host in self._copies(place):
                copy = await self._rows_of_copy_at(host, question.of_copies([partition]))
                if copy is not None and copy["partitions"]:
                    found.append(copy)
                    break
        return found

    async def _rows_of_copy_at(self, host: HostInfo, question: RowsQuestion) -> Content | None:
        if host == self._own:
            return await self._here.of_rows(question)
        try:
            return await self._rows_at(host, question.path)
        except HostUnavailable as error:
            _LOGGER.info("a copy of store %s does not answer: %s", question.store, error)
            return None

    async def _rows_at(self, host: HostInfo, path: str) -> Content:
        answer = await self._forwarder.ask(host, path)
        if answer.status != _OK:
            raise HostUnavailable(f"the instance at {host} answered with status {answer.status}")
        try:
            theirs: dict[str, Any] = read_exact_json(answer.body)  # Any: an answer's JSON
        except ValueError as error:
            raise HostUnavailable(f"the answer of {host} is no JSON: is it an instance?") from error
        return theirs

    async def _count(self, store: str) -> int:
        """Returns the number of partitions of a store; 0 while it is not known."""
        return (await self._place(store, lambda count: count - 1)).partition + 1

    async def _place(
        self, store: str, partition_of: Callable[[int], int]
    ) -> KeyQueryMetadata[HostInfo]:
        """Returns the hosts of a partition, chosen by the number of partitions."""
        return await self._application.query_metadata_for_key(
            store, None, partitioner=lambda _, count: partition_of(count)
        )

    async def _require_all(self, store: str, partitions: list[int]) -> None:
        """Raises StoreNotAvailable unless each partition has answered once: one that moves
        may be nowhere, or told twice.
        """
        count = await self._count(store)
        if sorted(partitions) != list(range(count)) or not count:
            raise StoreNotAvailable(
                f"store {store} has partitions 0 to {count - 1}, and {sorted(partitions)} have answered: "
                "tasks move, ask again"
            )


def _chosen(partition: int, _count: int) -> int:
    return partition


def _partitions(contents: Iterable[Content]) -> list[int]:
    return [number for each in contents for number in each["partitions"]]
