"""Where prompts are written and sent, and where they wait."""
