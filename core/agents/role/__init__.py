"""Parts that every role shares: model, prompt, budget, and texts shortened to fit (design 7)."""
