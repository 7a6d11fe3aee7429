"""How much an archive may declare, to the last byte, and how it is packed so that it stays below."""

import io
import struct
import zipfile

import pytest

from fuselearn._version import __version__
from fuselearn.persistence import container
from fuselearn.persistence.container import ARRAYS, FOREIGN, HEADER, MODEL, checksum, pack, unpack

HEAD = {"format": 2, "fuselearn_version": __version__, "model": "ShareBoostClassifier", "foreign": []}


def declaring(n_bytes):
    """Return an archive of a header and a member, which together declare to unpack to so many bytes."""
    header = container._as_text(HEAD)
    content = bytearray(container.pack_plainly({HEADER: header, f"{FOREIGN}0.npy": b"0"}))
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", n_bytes - len(header))
    return bytes(content)


@pytest.mark.parametrize(
    ("more", "words"), [(0, "it has no model.json"), (1, "it would unpack to 67,"), (-1, "no model")]
)
def test_an_archive_may_declare_64_megabytes_and_a_hundred_times_its_size(more, words):
    """What is declared is looked at before anything is unpacked; below the limit, the missing tree is noticed."""
    limit = 64 * 2**20 + 100 * len(declaring(1000))
    with pytest.raises(ValueError, match=words):
        unpack(declaring(limit + more))


def test_a_member_may_be_as_large_as_its_allowance():
    with zipfile.ZipFile(io.BytesIO(container.pack_plainly({"a": b"12345"}))) as archive:
        assert container._member(archive, "a", 5) == b"12345"
        with pytest.raises(ValueError, match="its member a would unpack to 5 bytes, far more than it should have"):
            container._member(archive, "a", 4)


def text_of_marks(n_marks, length):
    """Return JSON with so many brackets, colons and commas, in so many bytes."""
    text = b'{"a":[' + b",".join([b"1"] * (n_marks - 2)) + b"]}"
    return text + b" " * (length - len(text))


@pytest.mark.parametrize("n_marks", [80_000, 100_000])
def test_text_may_have_50_000_marks_and_one_in_six_bytes(n_marks):
    enough = 6 * (n_marks - 50_000)
    assert len(container._parsed(text_of_marks(n_marks, enough), "tree")["a"]) == n_marks - 2
    with pytest.raises(ValueError, match="its tree has far more parts than text of its size"):
        container._parsed(text_of_marks(n_marks, enough - 1), "tree")


def test_marks_are_brackets_colons_and_commas():
    assert container._marks(b'{"a": [1, 2], "b": {}}') == 7


def methods_of(content):
    """Return how each member of an archive is packed, by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: info.compress_type for info in archive.infolist()}


def test_members_of_more_than_256_bytes_are_compressed():
    packed = pack(HEAD, {MODEL: b"{}", ARRAYS: bytes(257), f"{FOREIGN}0.npy": bytes(256)})
    methods = methods_of(packed)
    assert methods[ARRAYS] == zipfile.ZIP_DEFLATED
    assert methods[f"{FOREIGN}0.npy"] == methods[MODEL] == zipfile.ZIP_STORED
    assert methods_of(container._packed({ARRAYS: bytes(257)}, zipfile.ZIP_STORED)) == {ARRAYS: zipfile.ZIP_STORED}


MEMBERS = {MODEL: b'{"a": "' + b"a" * 1000 + b'"}', ARRAYS: bytes(5000)}
LARGEST_TEXT = len(MEMBERS[MODEL])
HEADER_SIZE = len(container._as_text(HEAD | {"checksum": checksum(HEAD, MEMBERS)}))
DECLARED = HEADER_SIZE + LARGEST_TEXT + 5000
COMPRESSED = len(pack(HEAD, MEMBERS))


@pytest.mark.parametrize(
    ("least", "growth", "most_text", "stored"),
    [
        (DECLARED - COMPRESSED, 1, LARGEST_TEXT, False),
        (DECLARED - COMPRESSED - 1, 1, LARGEST_TEXT, True),  # the header counts as well
        (DECLARED - 2 * COMPRESSED, 2, LARGEST_TEXT, False),
        (DECLARED - COMPRESSED, 1, LARGEST_TEXT - 1, True),
        (10**9, 1, LARGEST_TEXT - 1, True),
    ],
)
def test_what_shrinks_too_well_is_stored_as_it_is(monkeypatch, least, growth, most_text, stored):
    """Otherwise `unpack` would take it for a bomb."""
    monkeypatch.setattr(container, "MIN_ALLOWANCE", least)
    monkeypatch.setattr(container, "MAX_GROWTH", growth)
    monkeypatch.setattr(container, "_text_allowance", lambda size: most_text)
    packed = pack(HEAD, MEMBERS)
    assert methods_of(packed)[ARRAYS] == (zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED)
    if not stored:
        assert unpack(packed)[1] == MEMBERS


def test_the_header_is_text_that_must_not_shrink_too_well(monkeypatch):
    monkeypatch.setattr(container, "_text_allowance", lambda size: HEADER_SIZE + 2000)
    assert methods_of(pack(HEAD, MEMBERS))[ARRAYS] == zipfile.ZIP_DEFLATED
    assert methods_of(pack(HEAD | {"note": "a" * 3000}, MEMBERS))[ARRAYS] == zipfile.ZIP_STORED


def test_files_tell_no_time_but_in_the_header():
    """All members are from the first moment that an archive can name."""
    for packed in (pack(HEAD, MEMBERS), container.pack_plainly(MEMBERS)):
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_checksum_does_not_depend_on_the_order_of_keys_and_members():
    turned = dict(reversed(HEAD.items())), dict(reversed(MEMBERS.items()))
    assert checksum(*turned) == checksum(HEAD, MEMBERS)
    assert checksum(HEAD | {"checksum": "sha256:0"}, MEMBERS) == checksum(HEAD, MEMBERS)
    assert container._as_text(turned[0]) == container._as_text(HEAD)
