"""TLS without a socket: names in certificates, who they are here, PEM stores, and which settings go together."""
