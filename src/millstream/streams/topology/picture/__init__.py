"""A topology as a picture (SVG)."""

from millstream.streams.topology.picture.svg import to_svg

__all__ = ["to_svg"]
