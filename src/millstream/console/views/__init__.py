"""PURE: what the pages show, made from what the clients answer. No I/O, no HTML, no web framework."""
