"""Jobs, plans that ask for them, and the engines and stores that run and keep them."""
