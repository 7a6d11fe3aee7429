"""The archive: members in, members out, nothing too large and nothing changed on the way."""

import hashlib
import io
import json
import re
import stat
import zipfile
from pathlib import Path

HEADER, SCHEMA = "fuselearn.json", "schema.json"
LEAST_ROOM, MOST_GROWTH = 64 * 2**20, 100
"""An archive may unpack to this many bytes, and this many times its own size on top."""
TEXT_ROOM, TEXT_GROWTH = 4 * 2**20, 50
"""The same for the header and for the tree: text takes much more memory once it is read."""
MOST_TEXT = 512 * 2**20
FEW_PARTS, BYTES_OF_A_PART = 50_000, 6
"""Text may have this many brackets, colons and commas, and on top one in so many bytes. A tree has one in nine or more;
what is nothing but brackets takes thirty times its size in memory."""
WORDS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
MOST_WORDS = 200
DATE = (1980, 1, 1, 0, 0, 0)
"""Of every member: a file says when it was made in its header only."""


def read_bytes(path):
    """Content of a file. A folder, a device and a file that is not there are an `OSError`."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist.") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; name the file that fuselearn.save wrote.")
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is not a regular file; name the file that fuselearn.save wrote.")
    return path.read_bytes()


def header_of(content):
    """Header of an archive, as the dict it is. Nothing else is unpacked."""
    with _opened(content) as archive:
        return _parsed(_member(archive, HEADER, _text_room(len(content))), "header")


def unpack(content):
    """Header and members of an archive whose checksum is right.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    header : dict
    members : dict of name to bytes
        Without the header.
    """
    with _opened(content) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise ValueError("two of its members have the same name")
        declared = sum(info.file_size for info in infos)
        if declared > LEAST_ROOM + MOST_GROWTH * len(content):
            raise ValueError(f"it would unpack to {declared:,} bytes, far more than a model of its size")
        header = _parsed(_member(archive, HEADER, _text_room(len(content))), "header")
        if SCHEMA not in names:
            raise ValueError(f"it has no {SCHEMA}")
        members = {
            name: _member(archive, name, _text_room(len(content)) if name == SCHEMA else declared)
            for name in names
            if name != HEADER
        }
    if header.get("checksum") != checksum(header, members):
        raise ValueError("its checksum is wrong: it was damaged or changed after it was saved")
    return header, members


def pack(header, members):
    """Archive of a header, to which the checksum is added, and members."""
    header = header | {"checksum": checksum(header, members)}
    packed = _packed(header, members, zipfile.ZIP_DEFLATED)
    declared, text = sum(map(len, members.values())), max(len(members[SCHEMA]), len(_as_text(header)))
    if declared > LEAST_ROOM + MOST_GROWTH * len(packed) or text > _text_room(len(packed)):
        # What shrinks too well would be taken for a bomb.
        packed = _packed(header, members, zipfile.ZIP_STORED)
    return packed


def pack_plainly(members):
    """Archive of members as skops reads it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), content)
    return buffer.getvalue()


def checksum(header, members):
    """SHA-256 of the header, but for its checksum, and of all members with their names."""
    told = {key: value for key, value in header.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name in sorted(members):
        encoded = name.encode("utf-8", "surrogatepass")
        digest.update(f"\n{len(encoded)} {len(members[name])}\n".encode() + encoded)
        digest.update(members[name])
    return f"sha256:{digest.hexdigest()}"


def _opened(content):
    if not content:
        raise ValueError("it is empty")
    if content[:1] == b"\x80":
        raise ValueError("it looks like a pickle, which runs code when it is read; save the model with fuselearn.save")
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except Exception as error:
        known = "it is cut off or damaged" if content[:2] == b"PK" else "it is not a saved model"
        raise ValueError(f"{known} ({_shortened(error)})") from error


def _shortened(error):
    """What an error says, as far as it fits: zip quotes names, which in a damaged file may be of any length."""
    words = str(error)
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…"


def _member(archive, name, room):
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ValueError(f"it is an archive, but not of a saved model: it has no {name}") from None
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its member {name} is packed in a way that fuselearn.save does not use")
    if info.file_size > room:
        raise ValueError(f"its member {name} would unpack to {info.file_size:,} bytes, far more than it should have")
    try:
        with archive.open(info) as file:
            content = file.read(info.file_size)
    except Exception as error:
        raise ValueError(f"its member {name} is cut off or damaged ({_shortened(error)})") from error
    if len(content) != info.file_size:
        raise ValueError(f"its member {name} is cut off")
    return content


def _parsed(text, what):
    # Names may hold any of these, so words are taken out before many are too many.
    if _parts_of(text) > FEW_PARTS and _parts_of(WORDS.sub(b"", text)) > FEW_PARTS + len(text) // BYTES_OF_A_PART:
        raise ValueError(f"its {what} has far more parts than text of its size")
    try:
        parsed = json.loads(text)
    except RecursionError:
        raise ValueError(f"its {what} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"its {what} is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise ValueError(f"its {what} must be a JSON object; it is a {type(parsed).__name__}")
    return parsed


def parse_schema(members):
    """The tree of an archive's members, as the dict it is."""
    return _parsed(members[SCHEMA], "tree")


def _parts_of(text):
    return sum(map(text.count, (b"[", b"{", b":", b",")))


def _text_room(size):
    return min(TEXT_ROOM + TEXT_GROWTH * size, MOST_TEXT)


def _as_text(header):
    return json.dumps(header, indent=1, sort_keys=True).encode()


def _packed(header, members, compression):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {HEADER: _as_text(header), **members}.items():
            # Few bytes do not shrink.
            method = compression if len(content) > 256 else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name, DATE), content, compress_type=method)
    return buffer.getvalue()
