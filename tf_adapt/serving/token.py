"""The form of a server's token, for the server and its client."""


def is_token(text: str) -> bool:
    """Whether a header can hold it: printable ASCII without spaces."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
