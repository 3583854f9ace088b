"""Says when a query reads topics that are compacted: a micro-batch that is run again may
have fewer rows there than before.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.errors import MillstreamError
from millstream.spark.connections import Connections

_LOGGER = logging.getLogger(__name__)
_POLICY = "cleanup.policy"


def warn_of_compaction(link: Connections, topics: Collection[str]) -> None:
    """Logs one line that names the compacted topics. Not being allowed to ask for settings of topics is no error."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in sorted(topics)]
    try:
        found = link.run(link.admin().describe_configs(resources, names=[_POLICY]))
        policies = {each.name: found.result(each)[_POLICY].value or "" for each in resources}
    except MillstreamError as error:
        _LOGGER.debug("whether topics are compacted is not known: %s", error)
        return
    compacted = [name for name, policy in policies.items() if "compact" in policy]
    if compacted:
        _LOGGER.warning(
            "%s: compacted (cleanup.policy). A micro-batch that is run again lacks what compaction has removed meanwhile; an "
            "exactly-once sink says so with BatchChanged",
            ", ".join(compacted),
        )
