"""Plans that ask for jobs, and what runs them through an engine and a store."""
