"""Names of Java's Kafka and of other Python libraries, and what they are here, for the errors of
whoever writes them by habit.

Owns sentences alone: nothing here is called unless a name was not found. Must not import what it speaks of.
"""
