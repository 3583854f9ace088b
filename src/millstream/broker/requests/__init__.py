"""The way of a request: from its frame to a handler and from its result or error to the answer."""
