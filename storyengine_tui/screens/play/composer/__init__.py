"""The composer: panels in which prompts are written and sent, and the queue of those that wait."""
