"""The metadata quorum of this node: its log, its snapshots, the controller that runs on it, the
broker's session with it.
"""
