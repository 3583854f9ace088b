"""The interfaces to clock, randomness and disk. Cores take these Protocols; `runtime.system` holds the real ones."""

from millstream.runtime.interfaces import Clock, File, FileSystem, Instant, Random

__all__ = ["Clock", "File", "FileSystem", "Instant", "Random"]
