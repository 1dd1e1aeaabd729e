"""The queue of requests: worker, executor, and the durations of earlier work."""
