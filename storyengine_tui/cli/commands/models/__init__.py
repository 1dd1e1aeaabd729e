"""Commands for models: which answer, and the consent to send them text."""
