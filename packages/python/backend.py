"""Build backend (PEP 517) of a package that is pure Python: a wheel is a zip file, an sdist a tar file.

It also runs alone: ``python3 backend.py FOLDER`` writes the wheel there and prints its name."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
#: The earliest date of a zip file: the same sources make the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def _field(name: str) -> str:
    """A text of pyproject.toml; Python 3.10 has no parser for it."""
    found = re.search(rf'^{name} = "([^"]*)"$', (_HERE / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml has no {name}")
    return found[1]


def _stem() -> str:
    return f"{_field('name').replace('-', '_')}-{_field('version')}"


def _metadata() -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {_field('name')}",
        f"Version: {_field('version')}",
        f"Summary: {_field('description')}",
        "License: Apache-2.0",
        f"Requires-Python: {_field('requires-python')}",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (_HERE / "README.md").read_text()


def _modules() -> list[Path]:
    folder = _HERE / "turnpike_client"
    if not (folder / "_operations.py").exists():
        raise ValueError("turnpike_client/_operations.py is missing: npm run clients")
    return sorted(path for path in folder.iterdir() if path.suffix == ".py" or path.name == "py.typed")


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    name = f"{_stem()}-py3-none-any.whl"
    inner = f"{_stem()}.dist-info"
    files = [(f"turnpike_client/{path.name}", path.read_bytes()) for path in _modules()]
    files.append((f"{inner}/METADATA", _metadata().encode()))
    tags = "Wheel-Version: 1.0\nGenerator: turnpike\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files.append((f"{inner}/WHEEL", tags.encode()))
    digests = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for path, data in files
    ]
    record = f"{inner}/RECORD"
    files.append((record, ("".join(digests) + f"{record},,\n").encode()))
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            entry = zipfile.ZipInfo(path, _DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    name = f"{_stem()}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        own = [(path.name, path.read_bytes()) for path in (_HERE / "pyproject.toml", _HERE / "README.md", _HERE / "backend.py")]
        own += [(f"turnpike_client/{path.name}", path.read_bytes()) for path in _modules()]
        for path, data in [*own, ("PKG-INFO", _metadata().encode())]:
            entry = tarfile.TarInfo(f"{_stem()}/{path}")
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    return name


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
