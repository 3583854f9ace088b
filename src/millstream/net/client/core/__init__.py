"""What a connection to a broker knows without a socket: versions, frames in flight, credentials, waits. PURE."""
