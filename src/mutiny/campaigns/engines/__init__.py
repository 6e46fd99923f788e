"""Engines: this process, several processes, a Ray cluster."""
