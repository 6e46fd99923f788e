"""Operators on the program that trains: one file each. Which there are stands in ``catalogue``."""
