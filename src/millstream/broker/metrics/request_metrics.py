"""What is counted of requests, by API: how many of each version, which errors, and how long they took.

Local time is spent working on a request, remote time waiting for others (an fsync, a replica, a coordinator, more bytes). A
request that waits is counted when it is answered; one that nobody answers is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.protocol.api import ApiKey

_NS_IN_US = 1_000


class ApiMetrics:
    """Of one API. Times are read from one clock, in nanoseconds."""

    __slots__ = ("errors", "key", "local", "remote", "total", "versions")

    def __init__(self, key: ApiKey, versions: Iterable[int]) -> None:
        self.key = key
        self.versions = dict.fromkeys(versions, 0)
        """Answered requests by version."""
        self.errors: Counter[int] = Counter()
        """Responses that failed as a whole, by error code."""
        self.total = TimeDistribution()
        self.local = TimeDistribution()
        self.remote = TimeDistribution()

    def answered_at_once(self, version: int, begin_ns: int, end_ns: int) -> None:
        duration_us = (end_ns - begin_ns) // _NS_IN_US
        self.versions[version] += 1
        self.local.observe(duration_us)
        self.total.observe(duration_us)

    def answered_later(self, version: int, begin_ns: int, waiting_ns: int, end_ns: int) -> None:
        """It began to wait at `waiting_ns`."""
        self.versions[version] += 1
        self.local.observe((waiting_ns - begin_ns) // _NS_IN_US)
        self.remote.observe((end_ns - waiting_ns) // _NS_IN_US)
        self.total.observe((end_ns - begin_ns) // _NS_IN_US)


class RequestMetrics:
    def __init__(self) -> None:
        self._apis: dict[ApiKey, ApiMetrics] = {}

    def __iter__(self) -> Iterator[ApiMetrics]:
        return iter(self._apis.values())

    def api(self, key: ApiKey, versions: Iterable[int]) -> ApiMetrics:
        """To be asked for once and kept: counting goes straight to it."""
        found = self._apis.get(key)
        if found is None:
            found = self._apis[key] = ApiMetrics(key, versions)
        return found
