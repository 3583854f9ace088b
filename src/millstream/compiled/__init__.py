"""The modules of the package that run compiled. The files that a build makes of them lie here."""

from millstream.compiled.finder import are_compiled, prefer_compiled

__all__ = ["are_compiled", "prefer_compiled"]
