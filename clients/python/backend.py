"""Builds the wheel of weft.py with the standard library alone (PEP 517, PEP 427).

WEFT_VERSION is its version, in the form of PEP 440; without it the wheel is of no release.
"""

import base64
import hashlib
import os
import zipfile

NAME = "weft_sdn"
METADATA = """Metadata-Version: 2.1
Name: weft-sdn
Version: %s
Summary: Sources and receivers of RDMA multicast groups of Weft, by RDMA CM
Home-page: https://github.com/weft-sdn/weft
Requires-Python: >=3.9
"""
WHEEL = """Wheel-Version: 1.0
Generator: weft
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into a directory, and returns its name. Equal sources make equal wheels."""
    version = os.environ.get("WEFT_VERSION", "0")
    info = "%s-%s.dist-info/" % (NAME, version)
    with open("weft.py", "rb") as source:
        files = {"weft.py": source.read(), info + "METADATA": (METADATA % version).encode(), info + "WHEEL": WHEEL.encode()}
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(text))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    wheel = "%s-%s-py3-none-any.whl" % (NAME, version)
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980-01-01
            entry.external_attr = 0o644 << 16
            out.writestr(entry, text, zipfile.ZIP_DEFLATED)
    return wheel
