"""Text leaves the machine only to an address that the GM has opted in to, once for each (design 8)."""

import ipaddress
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from core.config.files.bounded_file import read_bounded
from core.config.files.private_files import alone_with, write_privately
from core.domain.errors import ErrorCode, StoryEngineError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_NAME = re.compile(r"(?!-)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\Z")
_BRACKETED = re.compile(r"\[[0-9a-fA-F:.]+\](?::\d*)?\Z")
# Nothing outside printable ASCII: what looks like a digit or a dot elsewhere in Unicode may become one on
# the way to the resolver. A backslash or a user part is read differently by different parsers.
_ODD = re.compile(r"[^\x21-\x7e]|[\\@?#]")


class InvalidAddressError(StoryEngineError):
    """An address that no service can be reached under, or that could be read in two ways."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            ErrorCode.LLM_REQUEST_ERROR,
            f"The service's address cannot be used: {reason}; nothing was sent.",
            "It looks like https://api.openai.com/v1; STORYENGINE_BASE_URL and F6 have the one in use.",
        )


def normalise_base_url(url: str) -> str:
    """Return the one way of writing `url`: lower case, no default port, no trailing slash.

    Raises InvalidAddressError unless it is plainly `http(s)://host[:port][/path]`. The address is not
    repeated in the message, because it may carry a password.
    """
    url = url.strip()
    if odd := _ODD.search(url):
        raise InvalidAddressError(f"it contains {odd[0]!r}" if odd[0].isprintable() else "it contains blanks")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidAddressError("it is not a URL with a valid host and port") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise InvalidAddressError("it does not begin with http:// or https://")
    host = _canonical_host(parts)
    suffix = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{suffix}{parts.path.rstrip('/')}"


def _canonical_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if parts.netloc.startswith("["):
        try:
            address = ipaddress.IPv6Address(host)
        except ValueError:
            raise InvalidAddressError("its host is not a valid IPv6 address") from None
        if address.scope_id is not None or not _BRACKETED.match(parts.netloc):
            raise InvalidAddressError("its host is not a plain IPv6 address")
        return f"[{address.compressed}]"
    if not _HOST_NAME.match(host):
        raise InvalidAddressError("its host is not a valid name")
    return host


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine beyond doubt: `localhost`, 127.0.0.0/8 in four decimals, or ::1.

    Other spellings of loopback (hexadecimal, short or mapped ones) count as foreign, which costs one
    question and can leak nothing. Raises InvalidAddressError.
    """
    host = urlsplit(normalise_base_url(url)).hostname
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("127.0.0.0/8")
    return address == ipaddress.IPv6Address("::1")


def may_use_proxy(url: str) -> bool:
    """Whether what is sent to `url` may go through a proxy that the environment names.

    Consent names one address. Over https a proxy only forwards what it cannot read, and learns the host's
    name; over plain http it would read the text and the key, and it was not agreed to. What is meant for this
    machine stays on it.
    """
    return urlsplit(normalise_base_url(url)).scheme == "https" and not is_loopback(url)


class Consent:
    """The addresses that text may be sent to: those of the settings and those granted in the app.

    The file is read at every check, so that what another window grants or revokes holds at once.
    """

    def __init__(self, settings: Iterable[str], file: Path) -> None:
        self._settings = tuple(settings)
        self._file = file

    def granted(self) -> frozenset[str]:
        """Return every address with consent, normalised. An entry that cannot be read grants nothing."""
        return frozenset(_valid((*self._settings, *self._stored())))

    def is_granted(self, url: str) -> bool:
        """Whether text may be sent to `url`; loopback needs no consent. Raises InvalidAddressError."""
        return is_loopback(url) or normalise_base_url(url) in self.granted()

    def check(self, url: str) -> None:
        """Raise StoryEngineError with CONSENT_REQUIRED unless text may be sent to `url`."""
        if not self.is_granted(url):
            raise no_consent(url)

    def grant(self, url: str) -> str:
        """Store consent for `url` and return the address as stored.

        Raises InvalidAddressError, and StoryEngineError with STORAGE_SAVE_FAILED.
        """
        normal = normalise_base_url(url)
        self._change(lambda stored: stored | {normal})
        return normal

    def revoke(self, url: str) -> bool:
        """Take the consent for `url` back; return whether it had been granted.

        Raises StoryEngineError when the settings grant it, because they would go on doing so.
        """
        normal = normalise_base_url(url)
        was_granted = normal in _valid(self._stored())
        if was_granted:
            self._change(lambda stored: stored - {normal})
        if normal in _valid(self._settings):
            raise StoryEngineError(
                ErrorCode.ILLEGAL_COMMAND,
                f"The settings still grant {normal}, so text may go there; take it out of them.",
                "Look for STORYENGINE_CONSENT in the environment, and for `consent` in config.toml.",
            )
        return was_granted

    def _stored(self) -> tuple[str, ...]:
        try:
            content = json.loads(read_bounded(self._file))
        except (OSError, ValueError, RecursionError):  # the last: brackets too deep to be read
            return ()
        urls = content.get("granted") if isinstance(content, dict) else None
        return tuple(url for url in urls if isinstance(url, str)) if isinstance(urls, list) else ()

    def _change(self, change: Callable[[set[str]], set[str]]) -> None:
        """Store what `change` makes of the stored addresses, while no other window can change them."""
        try:
            with alone_with(self._file):
                urls = change(_valid(self._stored()))
                write_privately(self._file, json.dumps({"granted": sorted(urls)}, indent=2) + "\n")
        except OSError as error:
            raise StoryEngineError(
                ErrorCode.STORAGE_SAVE_FAILED,
                f"Your consent could not be stored ({error.strerror}); nothing was changed.",
                f"Make {self._file.parent} writable, or use STORYENGINE_CONSENT.",
            ) from error


def no_consent(url: str) -> StoryEngineError:
    """Return the refusal to send text to `url`, which says how to grant it."""
    normal = normalise_base_url(url)
    return StoryEngineError(
        ErrorCode.CONSENT_REQUIRED,
        f"No text leaves this machine without your consent, and {normal} has none yet; nothing was sent.",
        f"Grant it once with `storyengine consent grant {normal}`, or list it in STORYENGINE_CONSENT.",
    )


def _valid(urls: Iterable[str]) -> set[str]:
    normal = set()
    for url in urls:
        try:
            normal.add(normalise_base_url(url))
        except InvalidAddressError:
            continue
    return normal
