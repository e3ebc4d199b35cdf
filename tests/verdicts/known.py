# SPDX-License-Identifier: MIT
"""Programs of the corpus whose verdict is wrong today, each with the reason.

The test with --long demands that these, and no others, are wrong: take a program out of the table when its verdict becomes right.
"""

KNOWN = {
}
