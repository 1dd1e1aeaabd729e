"""Who answers: models, keys, consent and weights."""
