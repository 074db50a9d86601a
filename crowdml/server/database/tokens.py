"""Make the secrets of devices and sessions: 256 random bits, of which only a hash is stored."""

import hashlib
import secrets


def new_token() -> str:
    return secrets.token_urlsafe(32)


def token_sha256(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
