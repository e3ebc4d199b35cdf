# SPDX-License-Identifier: MIT
"""A host program that makes a wheel and installs it with pip, without any network."""

import base64
import hashlib
import subprocess
import sys
import zipfile

FILES = {
    "small.py": "def main():\n    print('installed')\n",
    "small-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
    "small-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "small-1.0.dist-info/entry_points.txt": "[console_scripts]\nsmall = small:main\n",
}
NAME = "small-1.0-py3-none-any.whl"


def hash_of(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


record = "".join(f"{path},sha256={hash_of(text)},{len(text)}\n" for path, text in FILES.items())
with zipfile.ZipFile(NAME, "w") as wheel:
    for path, text in {**FILES, "small-1.0.dist-info/RECORD": record + "small-1.0.dist-info/RECORD,,\n"}.items():
        wheel.writestr(zipfile.ZipInfo(path), text)
pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--no-input"]
done = subprocess.run([*pip, "install", "--no-index", "--no-compile", "--target", "there", NAME], check=False)
subprocess.run(
    [*pip, "install", "--no-index", "--find-links", ".", "--target", "there", "nothing-of-that-name"], check=False
)
subprocess.run([sys.executable, "-B", "-c", "import small; small.main()"], cwd="there", check=False)
sys.exit(done.returncode)
