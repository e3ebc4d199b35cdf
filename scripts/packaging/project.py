# SPDX-License-Identifier: MIT
"""The description of the project for all packages. The version is from meson.build."""

import os
import re

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "gpumemtrace"
SUMMARY = "Which lines of a CUDA program hold how much GPU memory"

# The licences of the files in a wheel: ours, then those of the libraries in it (scripts/setup/package-libraries).
OWN_LICENSE = "MIT"
WHEEL_LICENSE = "MIT AND Zlib AND (GPL-2.0-or-later OR LGPL-3.0-or-later) AND LicenseRef-Public-Domain"


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"^\s*version: '([^']+)'", read("meson.build"), re.M)[1]


def description():
    """Returns the first part of the README."""
    return read("README.md").partition("\n## ")[0] + "\n"


def metadata(license_expression, license_files):
    """Returns the text of METADATA and PKG-INFO."""
    head = [
        ("Metadata-Version", "2.4"),
        ("Name", NAME),
        ("Version", version()),
        ("Summary", SUMMARY),
        ("License-Expression", license_expression),
        *(("License-File", name) for name in license_files),
        ("Keywords", "CUDA,GPU,memory,profiler,PyTorch,leak"),
        ("Classifier", "Environment :: GPU :: NVIDIA CUDA"),
        ("Classifier", "Operating System :: POSIX :: Linux"),
        ("Classifier", "Programming Language :: Python :: 3"),
        ("Classifier", "Topic :: Software Development :: Debuggers"),
        ("Requires-Python", ">=3.9"),
        ("Description-Content-Type", "text/markdown"),
    ]
    return "".join(f"{key}: {value}\n" for key, value in head) + "\n" + description()
