"""Pages of model hubs by the addresses that a browser shows: which handle names their model."""

import re
from urllib.parse import unquote

_NAME = r"[\w.-]+"
_SITE = r"(?:https?://)?(?:www\.)?"
_HUGGINGFACE = rf"{_SITE}(?:huggingface|hf)\.co"
# What is no name of a model: at the front of a path, and behind a name without an organisation.
_OTHER_PAGES = r"(?!(?:datasets|spaces|models|collections|papers|docs|blog)(?:/|$))"
_TABS = r"(?!(?:tree|blob|raw|resolve|commits?|discussions)(?:/|$))"
_MODEL = rf"{_HUGGINGFACE}/{_OTHER_PAGES}({_NAME}(?:/{_TABS}{_NAME})?)"
_KAGGLE = rf"{_SITE}kaggle\.com/models"
_VARIATION = (
    rf"/({_NAME})/({_NAME})(?:/frameworks)?/({_NAME})(?:/variations)?/({_NAME})"
    r"(?:(?:/versions)?(/\d+))?"
)
# The address of a page, without what follows ? or #, and the handle; the first that fits counts.
_PAGES = [
    (rf"{_MODEL}/tree/(?!main(?:/|$))(refs/pr/\d+|{_NAME})(?:/.*)?", r"hf://\1@\2"),
    (rf"{_MODEL}(?:/.*)?", r"hf://\1"),
    (rf"{_HUGGINGFACE}(?:/.*)?", "hf://ORG/NAME"),
    (rf"{_KAGGLE}{_VARIATION}(?:/.*)?", r"kaggle://\1/\2/\3/\4\5"),
    (rf"{_KAGGLE}(?:/.*)?", "kaggle://OWNER/MODEL/FRAMEWORK/VARIATION"),
]
_ARCHIVES = (".tar.gz", ".tgz")


def page_hint(text: str) -> str | None:
    """What to do about the address of a hub's page, with or without https://; None: it is none, or
    that of an archive."""
    path = unquote(re.split("[?#]", text)[0]).rstrip("/")
    if path.endswith(_ARCHIVES) or "tf-hub-format=" in text:
        return None
    for page, handle in _PAGES:
        if (match := re.fullmatch(page, path, re.IGNORECASE | re.ASCII)) is not None:
            return f"that is a page, not a module; give {match.expand(handle)}"
    return None
