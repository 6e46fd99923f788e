"""Stores of planned and finished jobs, in a file or in memory."""
