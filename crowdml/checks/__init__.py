"""Conformance suites: what every model, optimizer, noise source, store and transport must pass."""
