# SPDX-License-Identifier: MIT
"""Programs of the corpus whose verdict is wrong today, each with the reason, and those whose line is named with doubt.

The test with --long demands that those of KNOWN, and no others, are wrong: take a program out of the table when its verdict becomes right.
"""

KNOWN = {
    'healthy/bounded/snapshots_of_four_cycles.py': 'Four copies of the model, one for each 16 steps, kept to the end for an ensemble. A copy for each epoch that nobody needs looks the same. '
    'The report says so.',
}

DOUBTED = {
    'healthy/generation/tree_of_a_whole_game.py': 'The program frees the tree, then its model, and makes nothing in between. A list of requests that ends with the program looks the same.',
}
