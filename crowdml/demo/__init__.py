"""A live crowd on one machine."""
