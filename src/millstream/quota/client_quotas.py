"""Finds which of the quotas of one kind holds for a user and a client id, and with whom it is shared.

The most specific one holds alone (KIP-55):

    user and client id > user and default client id > user
    > default user and client id > default user and default client id > default user > client id > default client id

Where quotas of one level alone are set, everybody is counted by that level, also those for whom there is none: so Kafka
counts, and its metrics have those names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

from millstream.metadata.stored_security import QuotaEntity

_USER: Final = "user"
_CLIENT_ID: Final = "client-id"
_SEVERAL: Final = 2


class Counted(NamedTuple):
    """Those whose usage is counted together: an empty part does not count."""

    user: str
    client_id: str


class _Key(NamedTuple):
    """`user` and `client_id` of a quota; False: it has no such part, None: the default."""

    user: str | bool | None
    client_id: str | bool | None


@final
class ClientQuotas:
    """The quotas of one kind, such as `producer_byte_rate`. Immutable."""

    def __init__(self, limits: Mapping[QuotaEntity, float]) -> None:
        """`limits`: those of users and client ids; others, such as addresses, are left out."""
        self._limits: dict[_Key, float] = {}
        self._levels: set[tuple[bool, bool]] = set()
        """Whether by users, and whether by client ids: levels at which there are quotas."""
        for entity, limit in limits.items():
            key = _key(entity)
            if key is not None:
                self._limits[key] = limit
                self._levels.add((key.user is not False, key.client_id is not False))

    @classmethod
    def of(
        cls, name: str, quotas: Iterable[tuple[QuotaEntity, Mapping[str, float]]]
    ) -> ClientQuotas:
        """Returns those of the kind `name` among all quotas of a cluster."""
        return cls({entity: limits[name] for entity, limits in quotas if name in limits})

    def __bool__(self) -> bool:
        return bool(self._limits)

    def counted(self, user: str, client_id: str) -> Counted:
        """Returns with whom the usage of a client is counted."""
        if len(self._levels) < _SEVERAL:
            by_user, by_client_id = next(iter(self._levels), (False, True))
            return Counted(user if by_user else "", client_id if by_client_id else "")
        for of_user in (user, None):
            if _Key(of_user, client_id) in self._limits or _Key(of_user, None) in self._limits:
                return Counted(user, client_id)
            if _Key(of_user, False) in self._limits:
                return Counted(user, "")
        return Counted("", client_id)

    def limit(self, counted: Counted) -> float | None:
        """Returns the quota of those that are counted together; None: there is none."""
        user, client_id = counted
        if user and client_id:
            keys = [
                _Key(of_user, of_client)
                for of_user in (user, None)
                for of_client in (client_id, None)
            ]
        elif user:
            keys = [_Key(user, False), _Key(None, False)]
        elif client_id:
            keys = [_Key(False, client_id), _Key(False, None)]
        else:
            keys = []
        return next((self._limits[key] for key in keys if key in self._limits), None)


def _key(entity: QuotaEntity) -> _Key | None:
    parts = dict(entity)
    if not parts or not parts.keys() <= {_USER, _CLIENT_ID}:
        return None
    return _Key(parts.get(_USER, False), parts.get(_CLIENT_ID, False))
