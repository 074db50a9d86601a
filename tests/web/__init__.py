"""The browser device: tests in JavaScript here, and what its tests in a browser need."""
