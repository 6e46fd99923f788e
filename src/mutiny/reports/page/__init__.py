"""The report as one HTML page: what it says (pure functions of results), and how that is drawn."""
