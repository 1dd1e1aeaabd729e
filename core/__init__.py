"""The story engine without a screen and without a database: domain, rules, agents, providers, engine."""
