"""Benchmarks of the parts: ratios against a reference in the same run."""
