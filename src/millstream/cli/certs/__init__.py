"""`millstream certs`: certificates to try TLS with."""
