"""Makes a directory a data directory, for nobody but the user of the node, and reads whose it is.

Records of all topics lie there, and in the metadata log what passwords can be guessed from. So a new data directory is
closed to other users of the machine, and whatever is written into it is (`runtime.system`). One that was formatted
before keeps its rights: somebody may have given them on purpose, to a group that makes backups, and the operator is
told of it (`broker.storage.data_directory`).
"""

from __future__ import annotations

import contextlib

from millstream.errors import ConfigError
from millstream.log.directory.text_checkpoints import (
    META_PROPERTIES_FILE,
    MetaProperties,
    decode_meta_properties,
    encode_meta_properties,
)
from millstream.runtime import FileSystem


def format_directory(file_system: FileSystem, path: str, meta: MetaProperties) -> None:
    """Makes `path` a data directory of the cluster and node in `meta`. Raises ConfigError when it is one already."""
    file_system.make_directory(path)
    meta_path = f"{path}/{META_PROPERTIES_FILE}"
    if file_system.exists(meta_path):
        raise ConfigError(
            f"{path} is formatted already; use it as it is, or format an empty directory"
        )
    # It may belong to another user, as mounted ones do, or lie where there are no rights: whoever opens it tells of it.
    with contextlib.suppress(OSError):
        file_system.make_private(path)
    file_system.write_atomically(meta_path, encode_meta_properties(meta))


def read_meta_properties(file_system: FileSystem, path: str) -> MetaProperties | None:
    """Reads meta.properties; None for a directory that was never formatted. Raises DamagedFile."""
    meta_path = f"{path}/{META_PROPERTIES_FILE}"
    if not file_system.exists(meta_path):
        return None
    return decode_meta_properties(meta_path, file_system.read(meta_path))
