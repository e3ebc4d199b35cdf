# SPDX-License-Identifier: MIT
"""Lists the corpus programs with a wrong verdict today, and those whose line the report doubts. Each has its reason.

The test with --long requires that exactly the programs of KNOWN are wrong. Remove a program when its verdict becomes right.
"""

KNOWN = {
    'healthy/bounded/snapshots_of_four_cycles.py': 'Four copies of the model, one for each 16 steps, kept to the end for an ensemble. A copy for each epoch that nobody needs looks the same. '
    'The report says so.',
}

DOUBTED = {
    'healthy/generation/tree_of_a_whole_game.py': 'The program frees the tree, then its model, and makes nothing in between. A list of requests that ends with the program looks the same.',
}
