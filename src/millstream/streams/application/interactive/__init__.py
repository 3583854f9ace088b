"""Interactive queries of a running application: its own stores to be read, and the hosts of those
that others have (KIP-67).
"""
