"""Draws a topology as SVG."""

from millstream.streams.topology.drawing.svg import to_svg

__all__ = ["to_svg"]
