"""Benchmarks: ratios against a peer or an earlier design in the same run, never limits in seconds."""
