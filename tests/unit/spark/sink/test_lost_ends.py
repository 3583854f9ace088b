"""A sink whose mark cannot be read, because brokers have lost the end of a transaction, says how to go on."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.clients.admin.core.results import Results
from millstream.errors import UnstableOffsetCommit
from millstream.model import TopicPartition
from millstream.spark.sink.transactions import metadata_of


class AdminOfAGroup:
    """An admin client in whose cluster one transaction of the group stays open for ever."""

    async def list_consumer_group_offsets(self, group_ids: list[str], **_: Any) -> Any:
        return Results(
            {
                group: Results(
                    {TopicPartition("out", 0): UnstableOffsetCommit("out-0: still open.")}
                )
                for group in group_ids
            }
        )


async def test_the_error_names_the_group_and_the_tool_that_ends_the_transaction() -> None:
    admin: Any = AdminOfAGroup()
    with pytest.raises(
        UnstableOffsetCommit,
        match=r"out-0: still open\. It is one of group sink-0, .* find-hanging names it",
    ):
        await metadata_of(admin, ["sink-0"])
