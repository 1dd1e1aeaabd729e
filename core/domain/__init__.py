"""The terms of the design: sessions, slots, events, memory, requests, and the state machine."""
