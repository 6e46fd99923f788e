"""Where tasks are run."""
