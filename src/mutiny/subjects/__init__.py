"""Subjects: what is tested, and how one is named."""

from mutiny.subjects.loading import load_subject
from mutiny.subjects.subject import Subject

__all__ = ["Subject", "load_subject"]
