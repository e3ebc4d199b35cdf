# SPDX-License-Identifier: MIT
"""Runs another script and adds all of torch.cuda.memory_stats() to its report: with_stats.py SCRIPT [ARGUMENT...]"""

import os
import runpy
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'programs'))

import common
import torch

plain_report = common.report


def report(path=None, **more):
    torch.cuda.synchronize()
    devices = range(torch.cuda.device_count())
    plain_report(path, stats=[torch.cuda.memory_stats(device) for device in devices], **more)


common.report = report
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name='__main__')
