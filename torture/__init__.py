"""Kills, lost machines, full disks, damaged files: what a campaign must survive. ``python -m torture``."""
