# SPDX-License-Identifier: MIT
"""Checks the tool's verdicts on 30 programs of the corpus, and with --long on all programs.

Each program is one test. With --long, the verdicts on the programs of known.py must be wrong, and all others right.
The tests also compact each recording in several ways. Each compaction must have the verdict of the whole recording, or say why it
is not judged.
"""

import glob
import os
import tempfile
import unittest

import compactions
import tap
from known import KNOWN
from recorded_run import SIM_PYTHON
from verdict import FOLDER, Verdict, programs

LONG = os.environ.get('GMT_TEST_LONG')

# Half of the programs make no optimizer. For an optimizer, PyTorch loads its compiler, which takes as long as all the rest.
DEFAULT = [
    'leaking/caches/lru_cache_with_pinned_entries',
    'leaking/caches/workspaces_by_batch_shape',
    'leaking/cycles/recursive_closures_with_gc_disabled',
    'leaking/graphs/streaming_hidden_state',
    'leaking/growing/contrastive_bank_grows',
    'leaking/growing/replay_buffer_that_doubles',
    'leaking/histories/sums_and_maxima_in_one_line',
    'leaking/hooks/profiled_shapes_and_tensors',
    'leaking/late/recording_from_step_151',
    'leaking/models/checkpoints_of_four_epochs',
    'leaking/queues/requests_outpace_batches',
    'leaking/serving/server_keeps_responses',
    'leaking/steps/functional_server',
    'leaking/steps/residual_blocks_of_a_list',
    'leaking/steps/tokens_of_requests',
    'leaking/windows/embeddings_kept_and_recent',
    'healthy/bounded/window_full_after_three_quarters',
    'healthy/caches/features_in_an_ordered_dict',
    'healthy/caches/vocabulary_cache',
    'healthy/data/double_buffering',
    'healthy/evaluation/losses_of_three_epochs',
    'healthy/evaluation/predictions_of_one_pass',
    'healthy/generation/kv_cache_one_request',
    'healthy/generation/windowed_cache',
    'healthy/models/best_checkpoint_on_device',
    'healthy/models/k_fold',
    'healthy/serving/sessions_that_expire',
    'healthy/steps/equal_layers_without_a_head',
    'healthy/training/gradual_unfreezing',
    'healthy/windows/pool_of_generated_images',
]


# The recorder also compacts these programs itself. The value says whether growth is judged then; it is not if steps are module calls.
AGGREGATED = {
    'leaking/late/recording_from_step_151': True,
    'leaking/caches/lru_cache_with_pinned_entries': False,
    'healthy/training/gradual_unfreezing': True,
}


@unittest.skipUnless(SIM_PYTHON, 'needs PyTorch on the simulated device: run scripts/test')
class Verdicts(unittest.TestCase):
    def judge(self, name):
        with tempfile.TemporaryDirectory() as folder:
            verdict = Verdict(FOLDER / f'{name}.py', keep=folder)
            for path in glob.glob(os.path.join(folder, '*.gmt.gz')):
                self.check_compactions(name, verdict, compactions.Said(path), path, folder)
            if LONG or name in AGGREGATED:
                self.check_aggregated(name, verdict, compactions.Said(path), folder)
        return verdict

    def check_compactions(self, name, verdict, whole, path, folder):
        for way, options in compactions.WAYS.items():
            compacted = compactions.Said(compactions.fold(path, options, folder))
            with self.subTest(way):
                self.assertEqual(compactions.differences(whole, compacted, verdict.truth['steps']), [])
                if name in DEFAULT:
                    self.assertIsNone(compacted.why_not())

    def check_aggregated(self, name, verdict, whole, folder):
        aggregated = os.path.join(folder, 'aggregated')
        os.mkdir(aggregated)
        Verdict(FOLDER / f'{name}.py', keep=aggregated, options={'mode': 'aggregate'})
        (path,) = glob.glob(os.path.join(aggregated, '*.gmt.gz'))
        compacted = compactions.Said(path)
        with self.subTest('mode=aggregate'):
            self.assertEqual(compactions.differences(whole, compacted, verdict.truth['steps']), [])
            self.assertEqual(compacted.why_not() is None, AGGREGATED.get(name, compacted.why_not() is None))

    def check_right(self, name):
        verdict = self.judge(name)
        self.assertEqual(verdict.wrong, [])
        if name in DEFAULT:
            # Without this check, a report that judges no growth would pass for a healthy program.
            self.assertIsNone(verdict.said['growth_not_judged'])

    def check_wrong(self, name):
        verdict = self.judge(name)
        self.assertNotEqual(verdict.wrong, [], 'the verdict is right now: take it out of known.py')
        self.assertNotIn('the program failed', ' '.join(verdict.wrong))


class Table(unittest.TestCase):
    def test_names_in_the_tables_are_those_of_programs(self):
        there = {str(path.relative_to(FOLDER)) for path in programs()}
        self.assertEqual({*KNOWN, *(f'{name}.py' for name in DEFAULT)} - there, set())
        self.assertEqual({f'{name}.py' for name in DEFAULT} & set(KNOWN), set())


def add(name):
    known = f'{name}.py' in KNOWN
    method = (lambda self: self.check_wrong(name)) if known else (lambda self: self.check_right(name))
    setattr(Verdicts, f'test_{"known_wrong_" if known else ""}{name.replace("/", "_")}', method)


for each in [str(path.relative_to(FOLDER).with_suffix('')) for path in programs()] if LONG else DEFAULT:
    add(each)

if __name__ == '__main__':
    tap.main()
