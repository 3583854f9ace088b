"""One module for each API that only controllers serve, or serve in another way than brokers.

They are as those of `broker.handlers`.
"""
