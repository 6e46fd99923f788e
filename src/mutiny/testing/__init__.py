"""Contract suites that ship, so that those who add an operator or a method can test their own."""
