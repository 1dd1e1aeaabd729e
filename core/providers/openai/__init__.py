"""Any service that speaks OpenAI's protocol."""
