"""The parts of a connection to a broker that need no socket: versions, requests in flight, credentials, waits. PURE."""
