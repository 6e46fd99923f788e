"""The verb `repair`: search for a weight patch that fixes failures."""
