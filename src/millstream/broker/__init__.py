"""The broker: one node's composition root and the handlers of the APIs it serves. See README.md."""
