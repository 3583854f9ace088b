"""Says how long who guesses passwords has to wait. Pure: times are given.

Failures count by the address they come from, and by the user they name: one machine tries many users, many
machines try one. A login counts as failed when it begins, so that ten at once are ten. A user can be made to
wait seconds by others, never kept out.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

FREE: Final = 3
"""Failures that cost nothing: people mistype."""
FIRST_WAIT_MS: Final = 1_000
"""It doubles with every further failure."""
ADDRESS_WAIT_MAX_MS: Final = 60_000
USER_WAIT_MAX_MS: Final = 5_000
FORGOTTEN_AFTER_MS: Final = 15 * 60 * 1000
REMEMBERED_MAX: Final = 10_000
NAME_CHARACTERS_MAX: Final = 256
"""Of a name so many are remembered: whoever has no login chooses it."""
_NETWORK_OF_ONE: Final = 64
"""Bits of an IPv6 address that say whose it is: within them one machine has as many addresses as it likes."""
_DOUBLINGS_MAX: Final = 20


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last_ms: int = 0
    before_ms: int = 0
    """When the last but one was; as the last where there is none."""

    def wait_ms(self, most_ms: int) -> int:
        if self.count < FREE:
            return 0
        return min(most_ms, FIRST_WAIT_MS << min(self.count - FREE, _DOUBLINGS_MAX))


class FailedLogins:
    """The failures of the last minutes."""

    def __init__(self, address_wait_max_ms: int = ADDRESS_WAIT_MAX_MS) -> None:
        """`address_wait_max_ms`: as that of a user where many people come from one address."""
        self._address_wait_max_ms = address_wait_max_ms
        self._addresses: dict[str, _Failures] = {}
        self._users: dict[str, _Failures] = {}

    def wait_ms(self, address: str, user: str, now_ms: int) -> int:
        """Returns how long a login has to wait, 0 for one that may begin."""
        places = (
            (self._addresses.get(network_of(address)), self._address_wait_max_ms),
            (self._users.get(_remembered(user)), USER_WAIT_MAX_MS),
        )
        waits = [each.last_ms + each.wait_ms(most) - now_ms for each, most in places if each]
        return max([0, *waits])

    def begin(self, address: str, user: str, now_ms: int) -> None:
        """Counts a login, as one that fails."""
        for table, key in (
            (self._addresses, network_of(address)),
            (self._users, _remembered(user)),
        ):
            found = table.pop(key, None)
            if found is None or now_ms - found.last_ms >= FORGOTTEN_AFTER_MS:
                found = _Failures()
            found.before_ms = found.last_ms if found.count else now_ms
            found.count += 1
            found.last_ms = now_ms
            table[key] = found
            if len(table) > REMEMBERED_MAX:
                del table[next(iter(table))]

    def note_success(self, address: str, user: str) -> None:
        """Takes back a login that was counted, and forgets the failures of its user.

        Those of its address stay: who guesses the passwords of others may have one that is right.
        """
        self._users.pop(_remembered(user), None)
        if (counted := self._addresses.get(network_of(address))) is not None:
            counted.count = max(0, counted.count - 1)

    def take_back(self, address: str, user: str, began_ms: int) -> None:
        """Takes back a login that began then, and nothing else: nobody has learned whether the password was right.

        The wait goes on from the failure before it.
        """
        for counted in (
            self._users.get(_remembered(user)),
            self._addresses.get(network_of(address)),
        ):
            if counted is None:
                continue
            counted.count = max(0, counted.count - 1)
            if counted.last_ms == began_ms:  # else another has begun after it
                counted.last_ms = counted.before_ms


def _remembered(user: str) -> str:
    return user[:NAME_CHARACTERS_MAX]


def network_of(address: str) -> str:
    """Returns the address that failures are counted by."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address) and known.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(known), _NETWORK_OF_ONE), strict=False))
    return address
