"""Outgoing connections to brokers: dialing, versions, TLS and SASL; brokers and clients open them alike."""
