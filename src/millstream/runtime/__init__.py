"""The interfaces to clock, randomness and disk. Cores take these Protocols; `runtime.system` holds the real ones."""

from millstream.runtime.clock import Clock, Instant
from millstream.runtime.files import File, FileSystem
from millstream.runtime.random import Random

__all__ = ["Clock", "File", "FileSystem", "Instant", "Random"]
