# SPDX-License-Identifier: MIT
"""The exceptions of this package. Their text is the one line that the program gpumemtrace prints."""


class Error(Exception):
    """Something about a recording, the library or the program failed."""


class FileError(Error, OSError):
    """The file cannot be opened or read."""


class FormatError(Error, ValueError):
    """The file is no recording, or nothing in it can be read."""


class NewerError(FormatError):
    """The recording was written in a format newer than this package."""


class ArgumentError(Error, ValueError):
    """There is no such table, column, filter or option."""


class OutOfMemoryError(Error, MemoryError):
    """The recording needs more than half of the memory that this process may use (machine, or container's limit)."""


class InstallationError(Error, ImportError):
    """The library, the program or a package is missing, or is of another version."""
