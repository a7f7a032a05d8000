"""What does each layer of a language model know? Linear probes on frozen per-layer representations."""
