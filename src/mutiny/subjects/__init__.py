"""Subjects: the models, task and data under test, and how to load them."""

from mutiny.subjects.loading import load_subject
from mutiny.subjects.subject import Subject

__all__ = ["Subject", "load_subject"]
