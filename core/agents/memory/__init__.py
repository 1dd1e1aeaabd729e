"""The agents that write structured memory: world lock, context summary, condensing (design 7)."""
