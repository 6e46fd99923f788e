"""One folder for each verb: the question it answers, the jobs it asks for, and its result."""
