"""Hash and check passwords with argon2id."""

from crowdml.errors import InvalidInput

SHORTEST, LONGEST = 10, 1000


def hash_password(password: str) -> str:
    """Hash a password with a random salt.

    >>> password_matches(hash_password("correct horse"), "correct horse")
    True
    """
    from argon2 import PasswordHasher

    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"a password must have {SHORTEST} to {LONGEST} characters, found {len(password)}."
        )
    return PasswordHasher().hash(password)


def password_matches(hashed: str | None, password: str) -> bool:
    """Check a password; an unknown owner (None) is rejected in the same time as a known one."""
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    hasher = PasswordHasher()
    if hashed is None:
        hasher.hash(password[:LONGEST])
        return False
    try:
        return hasher.verify(hashed, password[:LONGEST])
    except (Argon2Error, InvalidHashError):
        return False
