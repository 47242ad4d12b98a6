# SPDX-License-Identifier: Apache-2.0
"""The signature of a certificate: a page of HTML that carries the signature of all that comes before it.

What is displayed is what is signed, byte by byte, so nothing but the page is needed to check it.
"""

from pathlib import Path

from rekindle.host import files
from rekindle.records import RecordError

from . import signature
from .seal import SealError

_HEAD = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    b'<meta name="generator" content="rekindle certificate 1">\n'
)
"""Begins each, so that nothing else that the key signs is taken for one."""
_FOOT = (
    "<footer>\n<p>Signature of all above, by the Ed25519 key <code>{key}</code> in OpenSSH's format:</p>\n"
    "<pre>\n{armor}</pre>\n</footer>\n</body>\n</html>\n"
)
_PRE, _END = b"<pre>\n", b"</pre>"
_START = _FOOT.partition("{key}")[0].encode()
_LIMIT = 64 << 20


def sign_page(page: str, key: bytes) -> bytes:
    """Return a page with its signature by a private key."""
    content = page.encode()
    return content + _foot(signature.sign_content(content, key), signature.format_public_key(key))


def is_certificate(path: Path) -> bool:
    """Whether a file begins as certificates do; a folder does not."""
    try:
        with files.open_file(path) as stream:
            return stream.read(len(_HEAD)) == _HEAD
    except OSError:
        return False


def find_page_signer(path: Path) -> str:
    """Return the public key that signed a certificate.

    Raises:
        SealError: it was altered, or is not one.
        RecordError: it cannot be read.
    """
    try:
        whole = files.read_content(path, _LIMIT)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", "name a readable file.") from None
    content, _, rest = whole.rpartition(_START)
    armor = rest.partition(_PRE)[2].partition(_END)[0]
    try:
        signer = signature.find_signer(content, armor)
    except signature.SignatureError:
        signer = ""
    named = signer and signature.format_fingerprint(signer).encode() in content
    if not (named and content.startswith(_HEAD) and whole == content + _foot(armor, signer)):
        raise SealError(
            f"{path} was altered: it is not what its signature is of.",
            "ask whoever gave it to you for another.",
        )
    return signer


def _foot(armor: bytes, public: str) -> bytes:
    return _FOOT.format(key=signature.format_fingerprint(public), armor=armor.decode()).encode()
