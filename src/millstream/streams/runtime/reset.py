"""Says what belongs to an application alone, so that it can be deleted to begin anew. Pure.

Input and output topics are the user's. Stores on disks are left: a task that finds them without committed
offsets deletes them itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_INTERNAL: Final = re.compile(
    r".*(-changelog|-repartition"
    r"|-subscription-(registration|response)-topic"  # of a foreign-key join with a name
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-[0-9]+-topic)"
)


def pause_topic(application_id: str) -> str:
    """Returns the topic that says, while it is there, that the application is paused."""
    return f"{application_id}-millstream-paused"


def internal_topics(
    application_id: str, topics: Iterable[str], groups: Iterable[str]
) -> tuple[str, ...]:
    """Returns the internal topics of an application by their names, as Kafka's streams application reset tool
    finds them, and `pause_topic`.

    Those of an application whose id goes on after this one's and a hyphen, as `orders-eu` after `orders`, are left out:
    its group is known by `groups`.
    """
    longer = tuple(f"{group}-" for group in groups if group.startswith(f"{application_id}-"))
    mine = (name for name in topics if name.startswith(f"{application_id}-"))
    return tuple(
        sorted(
            name
            for name in mine
            if not name.startswith(longer)
            and (_INTERNAL.fullmatch(name) or name == pause_topic(application_id))
        )
    )
