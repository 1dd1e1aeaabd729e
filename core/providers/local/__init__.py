"""The bundled model: a llama.cpp server in a child process, and its weights."""
