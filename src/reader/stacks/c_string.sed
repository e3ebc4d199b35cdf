# SPDX-License-Identifier: MIT
# Converts lines of text to a C string.
s/[\"]/\\&/g
s/.*/"&\\n"/
