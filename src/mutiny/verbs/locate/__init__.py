"""The verb `locate`: rank neurons by suspiciousness, and synthesize inputs that activate the suspects."""
