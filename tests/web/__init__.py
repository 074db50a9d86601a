"""Test the browser device: tests in JavaScript, and helpers for the tests in a browser."""
