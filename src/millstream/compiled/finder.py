"""The modules that a small request passes, which run compiled where a build was made of the sources that are here.

`setup.py` compiles MODULES as one library with mypyc (docs/adr/0022) into this folder. Its files carry a
digest of all their sources. The finder gives them to `import` as long as the digest fits, all of them or
none: what was edited runs interpreted until it is compiled again. `MILLSTREAM_PURE=1` leaves it out.
Everybody imports the modules under their own names and need not know.

Imported by `import millstream` itself, so it imports nothing that is not loaded anyway.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec

MODULES = (
    "millstream.broker.fetch.fetch_guard",
    "millstream.broker.fetch.fetch_session",
    "millstream.broker.fetch.fetch_sessions",
    "millstream.broker.fetch.replicated_bytes",
    "millstream.broker.handlers.fetch",
    "millstream.broker.handlers.produce",
    "millstream.broker.metrics.request_metrics",
    "millstream.broker.metrics.time_distribution",
    "millstream.broker.metrics.topic_metrics",
    "millstream.broker.produce.produce_guard",
    "millstream.broker.replication.remote_leader",
    "millstream.broker.replication.replica_fetcher",
    "millstream.broker.requests.access",
    "millstream.broker.requests.dispatch",
    "millstream.broker.requests.purgatory",
    "millstream.broker.requests.request_context",
    "millstream.broker.storage.durability",
    "millstream.clients.cluster.core.cluster_metadata",
    "millstream.clients.cluster.core.metadata_state",
    "millstream.clients.producer.buffer_memory",
    "millstream.clients.producer.core.accumulator",
    "millstream.clients.producer.core.batch_completion",
    "millstream.clients.producer.core.batch_encoding",
    "millstream.clients.producer.core.default_partitioner",
    "millstream.clients.producer.core.partition_queue",
    "millstream.clients.producer.core.produce_planner",
    "millstream.clients.producer.core.produce_request",
    "millstream.clients.producer.core.producer_batch",
    "millstream.clients.producer.record_appender",
    "millstream.clients.producer.sender",
    "millstream.log.append_check",
    "millstream.log.append_info",
    "millstream.log.header_scan",
    "millstream.log.leader_epochs",
    "millstream.log.log_health",
    "millstream.log.log_reader",
    "millstream.log.log_state",
    "millstream.log.partition_log",
    "millstream.log.producers.producer_state",
    "millstream.log.roll_policy",
    "millstream.log.segments.lazy_file",
    "millstream.log.segments.offset_index",
    "millstream.log.segments.segment",
    "millstream.log.segments.segments",
    "millstream.log.unflushed",
    "millstream.net.client.connection",
    "millstream.net.client.core.connection_state",
    "millstream.net.frame_receiver",
    "millstream.net.server.connection",
    "millstream.net.server.deadline_queue",
    "millstream.net.server.request_memory",
    "millstream.net.server.socket_writer",
    "millstream.net.server.turns",
    "millstream.protocol.frames",
    "millstream.protocol.reading",
    "millstream.protocol.writing",
    "millstream.records.batch",
    "millstream.replication.fetch_plan",
    "millstream.replication.fetch_position",
    "millstream.replication.follower",
    "millstream.replication.followers",
    "millstream.replication.isr",
    "millstream.replication.partition",
    "millstream.replication.replica_progress",
    "millstream.runtime.system",
    "millstream.security.access_rules",
    "millstream.security.standard_authorizer",
)
"""What is compiled, as one: between these a call is a call in C, and an attribute a field of a struct."""

CONSTANTS_FROM = (
    "millstream.broker.config.log_levels",
    "millstream.broker.requests.turns",
    "millstream.log.directory.text_checkpoints",
    "millstream.log.segments.files",
    "millstream.log.segments.index_file",
    "millstream.metadata.image",
    "millstream.replication.throttle",
    "millstream.security.acl",
    "millstream.security.authorizer",
)
"""Other modules whose `Final` constants are copied into what is compiled: their sources count as well."""

_FOLDER = __name__.rpartition(".")[0]
_PURE = "MILLSTREAM_PURE"


def source_path(module: str) -> str:
    """The source of a module, below the folder that holds the package."""
    return module.replace(".", os.sep) + ".py"


def digest(root: str) -> str:
    """Returns the digest of all sources below `root`, which holds the package, for the Python that asks."""
    from importlib.util import source_hash

    sources = bytearray()
    for module in (*MODULES, *CONSTANTS_FROM):
        with open(os.path.join(root, source_path(module)), "rb") as file:
            source = file.read()
        sources += b"%s %d " % (module.encode(), len(source)) + source
    return source_hash(bytes(sources)).hex()


def library_name(digest_of_sources: str) -> str:
    """The name under which the compiled code of all modules is imported by each of them."""
    return f"{_FOLDER}.requests_{digest_of_sources}__mypyc"


def extension_name(module: str, digest_of_sources: str) -> str:
    """The name of the file that stands for `module` here, with the name of this package in front."""
    return f"{_FOLDER}.{module.replace('.', '_')}_{digest_of_sources}"


class CompiledFinder:
    """Finds the compiled twins of MODULES in this folder."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._files: dict[str, str] | None = None

    @property
    def files(self) -> dict[str, str]:
        """The files by module: all, or none where one is missing or was built from other sources. Looked for once."""
        if self._files is None:
            self._files = self._found()
        return self._files

    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if name not in _MODULES:
            return None
        file = self.files.get(name)
        if file is None:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))

    def _found(self) -> dict[str, str]:
        try:
            built_from = digest(self._root)
        except OSError:
            return {}  # a zip file, or no sources at all
        names = {module: extension_name(module, built_from) for module in MODULES}
        for suffix in EXTENSION_SUFFIXES:
            library = self._file(library_name(built_from), suffix)
            files = {module: self._file(name, suffix) for module, name in names.items()}
            if all(map(os.path.exists, (library, *files.values()))):
                return files
        return {}

    def _file(self, name: str, suffix: str) -> str:
        return os.path.join(self._root, name.replace(".", os.sep) + suffix)


_MODULES = frozenset(MODULES)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FINDER = CompiledFinder(_ROOT)


def prefer_compiled() -> None:
    """Lets imports find the compiled modules, unless MILLSTREAM_PURE=1 is set."""
    if os.environ.get(_PURE) != "1" and _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def are_compiled() -> bool:
    """Whether the modules that are imported from now on are compiled."""
    return _FINDER in sys.meta_path and bool(_FINDER.files)
