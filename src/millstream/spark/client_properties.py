"""A `client.properties` as options of the source and the sink.

It is read where this is called: workers need no such file.
"""

from __future__ import annotations

from pathlib import Path

from millstream.clients.properties_file import read_client_properties
from millstream.spark.kafka_settings import PREFIX, is_of_both


def kafka_options(file: str | Path) -> dict[str, str]:
    """Returns the settings in a file as options, for source and sink alike:
    `.options(**kafka_options("client.properties"))`.

    What the source or the sink decides itself is left out. Raises ConfigError for a file that cannot be read.
    """
    return {
        PREFIX + name.replace("_", "."): value
        for name, value in read_client_properties(file).items()
        if is_of_both(name)
    }
