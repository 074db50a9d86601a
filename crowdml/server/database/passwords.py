"""Hash and check passwords with argon2id."""

from crowdml.errors import InvalidInput

SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000


def hash_password(password: str) -> str:
    """Hash a password with a random salt.

    >>> password_matches(hash_password("correct horse"), "correct horse")
    True
    """
    from argon2 import PasswordHasher

    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidInput(
            f"a password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, "
            f"found {len(password)}."
        )
    return PasswordHasher().hash(password)


def password_matches(hashed: str | None, password: str) -> bool:
    """Check a password; an unknown owner (None) is rejected in the same time as a known one."""
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    hasher = PasswordHasher()
    if hashed is None:
        hasher.hash(password[:LONGEST_PASSWORD])
        return False
    try:
        return hasher.verify(hashed, password[:LONGEST_PASSWORD])
    except (Argon2Error, InvalidHashError):
        return False
