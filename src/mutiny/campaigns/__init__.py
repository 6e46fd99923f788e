"""Plans that ask for tasks, and what runs them through an engine and a store."""
