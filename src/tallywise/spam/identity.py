"""What makes copies of a message one."""

from tallywise._native import spam_identity


def digest_of(raw: bytes) -> bytes:
    """What makes two copies one message, whatever servers wrote around it: 16 bytes."""
    import hashlib  # loads OpenSSL: scoring goes without

    return hashlib.blake2b(spam_identity(bytes(raw)), digest_size=16).digest()
