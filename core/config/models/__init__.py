"""Choice of models: the model of each agent, its account and key, and the parameters of calls (design 7)."""
