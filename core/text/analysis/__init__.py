"""Analysis of texts: clauses, trigrams, repetitions, names and numbers without a source."""
