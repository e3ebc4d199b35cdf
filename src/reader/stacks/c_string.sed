# SPDX-License-Identifier: MIT
# Converts lines of text to a C string. Two question marks could begin a trigraph.
s/[\"?]/\\&/g
s/.*/"&\\n"/
