"""Counts requests by API: how many of each version, which errors, and how long they took.

Local time is spent working on a request, remote time waiting for others (an fsync, a replica, a coordinator, more
bytes). A request that waits is counted when it is answered; one that is never answered is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.protocol.api import ApiKey

_NS_IN_US = 1_000


class ApiMetrics:
    """The counters of one API. Times are read from one clock, in nanoseconds."""

    __slots__ = ("_at_once", "_before_waiting", "_waited", "errors", "key", "remote", "versions")

    def __init__(self, key: ApiKey, versions: Iterable[int]) -> None:
        self.key = key
        self.versions = dict.fromkeys(versions, 0)
        """Answered requests by version."""
        self.errors: Counter[int] = Counter()
        """Responses that failed as a whole, by error code."""
        self.remote = TimeDistribution()
        self._at_once = TimeDistribution()
        """Of requests that did not wait: local and total time are one, and observed once."""
        self._before_waiting = TimeDistribution()
        self._waited = TimeDistribution()

    @property
    def local(self) -> TimeDistribution:
        return self._at_once.merged(self._before_waiting)

    @property
    def total(self) -> TimeDistribution:
        return self._at_once.merged(self._waited)

    def record_at_once(self, version: int, begin_ns: int, end_ns: int) -> None:
        self.versions[version] += 1
        self._at_once.observe((end_ns - begin_ns) // _NS_IN_US)

    def record_delayed(self, version: int, begin_ns: int, waiting_ns: int, end_ns: int) -> None:
        """Counts a request that began to wait at `waiting_ns`."""
        self.versions[version] += 1
        self._before_waiting.observe((waiting_ns - begin_ns) // _NS_IN_US)
        self.remote.observe((end_ns - waiting_ns) // _NS_IN_US)
        self._waited.observe((end_ns - begin_ns) // _NS_IN_US)


class RequestMetrics:
    def __init__(self) -> None:
        self._apis: dict[ApiKey, ApiMetrics] = {}

    def __iter__(self) -> Iterator[ApiMetrics]:
        return iter(self._apis.values())

    def api(self, key: ApiKey, versions: Iterable[int]) -> ApiMetrics:
        """Returns the counters of an API. Callers keep the result, since counting goes straight to it."""
        found = self._apis.get(key)
        if found is None:
            found = self._apis[key] = ApiMetrics(key, versions)
        return found
