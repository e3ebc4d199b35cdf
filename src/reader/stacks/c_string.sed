# SPDX-License-Identifier: MIT
# Lines of text as a string of C.
s/[\"]/\\&/g
s/.*/"&\\n"/
