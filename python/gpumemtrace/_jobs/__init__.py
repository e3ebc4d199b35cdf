# SPDX-License-Identifier: MIT
"""Tables of many recordings: the files of a job, their rows as Arrow batches of one schema, and exports.

`gpumemtrace.open_job` and `gpumemtrace.export` load this package at their first use.
"""
