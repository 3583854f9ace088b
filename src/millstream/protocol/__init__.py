"""The wire protocol: messages, their versions, and frames. Pure: bytes and values only, no sockets."""
