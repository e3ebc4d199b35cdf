# SPDX-License-Identifier: MIT
"""`python -m gpumemtrace`: starts the program gpumemtrace of this package, with the same arguments.

This package does two verbs itself, in this Python: `python -m gpumemtrace kernelspec` and `... export`.
"""

import os
import sys

from gpumemtrace import _program


def main() -> None:
    if sys.argv[1:2] == ["kernelspec"]:
        from gpumemtrace import kernelspec

        sys.exit(kernelspec.main(sys.argv[2:]))
    if sys.argv[1:2] == ["export"]:
        from gpumemtrace._jobs import export_command

        sys.exit(export_command.main(sys.argv[2:]))
    program = _program.find()
    try:
        os.execv(program, ["gpumemtrace", *sys.argv[1:]])
    except OSError as error:
        why = _program.why_unsuitable() or f"{program}: {error.strerror}: install the package again"
    print(f"gpumemtrace: cannot start: {why}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
