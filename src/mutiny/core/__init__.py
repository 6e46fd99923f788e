"""What every part rests on: errors, records, results, random numbers, checks, statistics."""
