"""Specifications of state stores as data: kind, serdes, retention and changelog settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from millstream.foreign_names.explanation import explain_construction
from millstream.streams.arguments import check_fields, check_serdes
from millstream.streams.serdes.serde import Serde

_DAY_MS = 86_400_000
"""Kafka Streams' windowstore.changelog.additional.retention.ms."""


class StoreKind(Enum):
    """The kind of a store; decides the bytes of its rows and of its changelog."""

    KEY_VALUE = "key_value"
    TIMESTAMPED_KEY_VALUE = "timestamped_key_value"
    VERSIONED = "versioned"
    """Key-value rows with their history."""
    WINDOW = "window"
    TIMESTAMPED_WINDOW = "timestamped_window"
    SESSION = "session"
    UNMATCHED = "unmatched"
    SUPPRESSION_BUFFER = "suppression_buffer"
    JOIN_BUFFER = "join_buffer"
    """Records that wait for a versioned table, for `retention_ms`."""
    RETRIES = "retries"
    """Records whose function has failed, and those of their keys that came later, until it
    succeeds or they are given up."""
    SUBSCRIPTIONS = "subscriptions"
    """A timestamped key-value store of a foreign-key join; the value serde is that of the left table's keys."""
    CUSTOM = "custom"
    """Made by `supplier`: see state/custom.py."""


_FORMS: Final = {
    StoreKind.KEY_VALUE: "table",
    StoreKind.TIMESTAMPED_KEY_VALUE: "table",
    StoreKind.VERSIONED: "table",
    StoreKind.WINDOW: "windows",
    StoreKind.TIMESTAMPED_WINDOW: "windows",
    StoreKind.SESSION: "sessions",
}
_KINDS_WITH_RETENTION = (
    StoreKind.VERSIONED,
    StoreKind.WINDOW,
    StoreKind.TIMESTAMPED_WINDOW,
    StoreKind.SESSION,
)
_KINDS_WITH_HEADERS = (
    StoreKind.TIMESTAMPED_KEY_VALUE,
    StoreKind.TIMESTAMPED_WINDOW,
    StoreKind.SESSION,
)


@explain_construction
@dataclass(frozen=True, slots=True)
class StoreSpec:
    """One state store. Serdes that are None are the application's default serdes.

    `retention_ms` belongs to window and session stores, and is the history of versioned ones; `window_size_ms` to
    window stores. `time_ordered`: rows are found by time first, as emit-on-window-close needs them.
    """

    name: str
    kind: StoreKind
    persistent: bool = True
    key: Serde[Any] | None = None  # Any: a store of any type
    value: Serde[Any] | None = None  # Any: a store of any type
    caching: bool = False
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)
    retention_ms: int | None = None
    window_size_ms: int | None = None
    changelog_retention_ms: int | None = None
    """None: that of the store."""
    time_ordered: bool = False
    retain_duplicates: bool = False
    log_headers: bool = False
    """Changelog records carry the headers of the record: stores of stream-stream and of foreign-key joins alone."""
    other_value: Serde[Any] | None = None  # Any: the right side of a join
    entries_max: int | None = None
    """Of a key-value store: only so many rows are kept, those used last."""
    supplier: Callable[[], Any] | None = None  # Any: a CustomStateStore, which topologies know not
    """Of a custom store: makes it, once for every task."""
    with_headers: bool = False
    """Rows keep the headers they are put with (KIP-1271); of timestamped key-value, timestamped
    window and session stores."""

    keeps_timestamps: bool = True
    """False: rows of a table are read with timestamp -1, though they are written and logged with theirs."""

    def __post_init__(self) -> None:
        check_serdes("StoreSpec", key=self.key, value=self.value)
        check_fields(
            self,
            name=str,
            kind=StoreKind,
            persistent=bool,
            caching=bool,
            logging=bool,
            log_config=Mapping,
            retention_ms=int | None,
            window_size_ms=int | None,
            entries_max=int | None,
            supplier=Callable | None,  # type: ignore[arg-type]  # a union at run time
            with_headers=bool,
        )
        if (self.kind is StoreKind.CUSTOM) != (self.supplier is not None):
            raise ValueError(
                f"store {self.name}: kind CUSTOM and supplier= belong together, and to no other kind"
            )
        if self.retain_duplicates and self.kind is StoreKind.TIMESTAMPED_WINDOW:
            raise ValueError(
                f"store {self.name}: retain_duplicates belongs to windows without timestamps, kind WINDOW"
            )
        can_keep_headers = self.kind in _KINDS_WITH_HEADERS and self.entries_max is None
        if self.with_headers and not can_keep_headers:
            kinds = ", ".join(kind.value for kind in _KINDS_WITH_HEADERS)
            raise ValueError(
                f"store {self.name} of kind {self.kind.value} keeps no headers; these do, without entries_max: {kinds}"
            )
        self._check_retention()

    def _check_retention(self) -> None:
        """Checks the retention, which window, session and versioned stores cannot be without."""
        keeps, size = self.retention_ms, self.window_size_ms
        if self.kind in _KINDS_WITH_RETENTION and (keeps is None or keeps < 0):
            raise ValueError(
                f"store {self.name} of kind {self.kind.value} needs retention_ms, 0 or more, not {keeps}"
            )
        if self.is_window and (size is None or size < 0):
            raise ValueError(
                f"store {self.name} of kind {self.kind.value} needs window_size_ms, 0 or more, not {size}"
            )
        if self.is_window and keeps is not None and size is not None and size > keeps:
            raise ValueError(
                f"store {self.name} keeps {keeps} ms, less than its windows of {size} ms: raise retention_ms"
            )

    @property
    def history_ms(self) -> int | None:
        """The history of a versioned store."""
        return self.retention_ms if self.kind is StoreKind.VERSIONED else None

    @property
    def changelog_form(self) -> str:
        """The look of the records of its changelog.

        A store cannot be restored from those that have another first word.
        """
        form = _FORMS.get(self.kind, self.kind.value)
        return f"{form} of {self.window_size_ms} ms" if self.is_window else form

    @property
    def is_cacheable(self) -> bool:
        """Wants its writes held back, and is of a kind that can."""
        kinds = {
            StoreKind.KEY_VALUE,
            StoreKind.TIMESTAMPED_KEY_VALUE,
            StoreKind.WINDOW,
            StoreKind.TIMESTAMPED_WINDOW,
            StoreKind.SESSION,
        }
        return self.caching and self.kind in kinds and not self.retain_duplicates

    @property
    def is_window(self) -> bool:
        """Whether its rows are per key and window."""
        return self.kind in {StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW}

    @property
    def is_timestamped(self) -> bool:
        """Whether its rows carry the timestamp of their last change."""
        return self.kind in {
            StoreKind.TIMESTAMPED_KEY_VALUE,
            StoreKind.TIMESTAMPED_WINDOW,
            StoreKind.SUBSCRIPTIONS,
        }

    def changelog_config(self, additional_retention_ms: int = _DAY_MS) -> dict[str, str]:
        """Settings of the changelog topic."""
        config = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
        if self.history_ms is not None:
            config["min.compaction.lag.ms"] = str(self.history_ms + additional_retention_ms)
        if self.is_window or self.kind is StoreKind.SESSION:
            assert self.retention_ms is not None, "a window store has a retention"
            config["cleanup.policy"] = "compact,delete"
            kept_ms = self.retention_ms
            if self.changelog_retention_ms is not None:
                kept_ms = self.changelog_retention_ms
            config["retention.ms"] = str(min(kept_ms + additional_retention_ms, 2**63 - 1))
        if self.retain_duplicates and self.is_window:
            config["cleanup.policy"] = "delete"
        return config | dict(self.log_config)
