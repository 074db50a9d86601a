"""Data sets and central baselines."""
