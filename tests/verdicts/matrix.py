#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""matrix.py [--jobs N] [--keep FOLDER | --kept FOLDER] [--markdown] [PROGRAM...]

Compares the reports on corpus programs, and on compacted copies of their recordings, with the known verdicts.
Needs GMT_TEST_BUILD and GMT_TEST_SIM_PYTHON, as tests do. Exits with 1 if a verdict is wrong.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / 'helpers')]

import compactions  # noqa: E402
import page  # noqa: E402
from recorded_run import CLI, SIM_PYTHON  # noqa: E402
from verdict import Verdict, programs  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--jobs', type=int, default=2, help='programs that run at the same time')
    parser.add_argument('--keep', help='write the recordings and the truth into this folder')
    parser.add_argument('--kept', help='judge what an earlier run kept in this folder, and run no program')
    parser.add_argument('--markdown', action='store_true', help=f'write {page.PAGE.name} from the result; all programs')
    parser.add_argument('programs', nargs='*')
    asked = parser.parse_args()
    if asked.programs and asked.markdown:
        parser.error('--markdown is about all programs: name none')
    if not os.path.exists(CLI) or not SIM_PYTHON:
        parser.error('set GMT_TEST_BUILD to the build folder and GMT_TEST_SIM_PYTHON to scripts/sim-python')
    chosen = [
        FOLDER / name if (FOLDER / name).exists() else pathlib.Path(name) for name in asked.programs
    ] or programs()
    if asked.keep:
        os.makedirs(asked.keep, exist_ok=True)
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        for verdict in pool.map(lambda path: Verdict(path, asked.keep, asked.kept, also=compactions.compare), chosen):
            verdicts.append(verdict)
            print(f'{"wrong" if verdict.wrong else "right"}  {verdict.name}  {"; ".join(verdict.wrong)}', flush=True)
            for way, (differences, _) in verdict.compactions.items():
                if differences:
                    print(f'       compacted ({way}): {"; ".join(differences)}', flush=True)
    print(page.summary(verdicts))
    if asked.markdown:
        page.PAGE.write_text(page.text_of(verdicts))
    sys.exit(any(verdict.wrong for verdict in verdicts))


if __name__ == '__main__':
    main()
