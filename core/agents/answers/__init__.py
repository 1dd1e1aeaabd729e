"""The form that an answer must have, and what is read from one."""
