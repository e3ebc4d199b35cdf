# SPDX-License-Identifier: MIT
"""The cases of docs/symptoms: the programs to record, and the lines of the tool's output to show.

A block of a page is a list of commands. A pair of texts selects lines of the output: from the first line that
begins with the first text to the next line that begins with the second text, which is omitted. '' is an
empty line. None keeps only the first line.
"""

LEAKS = 'tests/torch/leaks'
HERE = 'docs/examples/symptoms'

LEAKING = ('loss_list', 'logged_grad_fn', 'small_under_churn', 'activation_cache', 'rnn_hidden', 'eval_outputs',
           'cycles', 'module_list', 'checkpoint_kept', 'extension', 'pinned')
NO_LEAK = ('warm_up', 'batch_sizes', 'reserved', 'schedule', 'workspaces', 'accumulation', 'prefetch')

# Maps the name of a recording to script, arguments and environment.
RECORDINGS = {
    **{f'{name}.{mode}': (f'{LEAKS}/{name}.py', [mode], {}) for name in LEAKING for mode in ('leak', 'repaired')},
    **{f'no_leak_{name}': (f'{LEAKS}/no_leak_{name}.py', [], {}) for name in NO_LEAK},
    **{f'two_ranks.{mode}.r{rank}': (f'{LEAKS}/two_ranks.py', [mode], {'RANK': str(rank), 'WORLD_SIZE': '2'})
       for mode in ('leak', 'repaired') for rank in (0, 1)},
    'full': ('tests/torch/programs/ooms.py', ['dies'], {'SIMCUDA_MEMORY': '1000M'}),
    'retried': ('tests/torch/programs/ooms.py', ['retry'], {'SIMCUDA_MEMORY': '1000M'}),
    'holes': ('tests/torch/programs/ooms.py', ['fragmented'], {'SIMCUDA_MEMORY': '1000M'}),
    'expandable': ('tests/torch/programs/ooms.py', ['fragmented'],
                   {'SIMCUDA_MEMORY': '1000M', 'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True'}),
    'outside-pytorch': ('tests/torch/programs/ooms.py', ['extension'], {'SIMCUDA_MEMORY': '4000M'}),
    'broadcast': (f'{HERE}/distances.py', ['broadcast'], {}),
    'cdist': (f'{HERE}/distances.py', ['cdist'], {}),
    'as-they-come': (f'{HERE}/lengths.py', ['as-they-come'], {}),
    'longest-first': (f'{HERE}/lengths.py', ['longest-first'], {}),
    'job': (f'{HERE}/killed.py', [], {}),
    'plain': ('tests/torch/programs/diff_training.py', ['4096'], {}),
    'checkpointed': ('tests/torch/programs/diff_training.py', ['4096', 'checkpoint'], {}),
}

# The recorder is preloaded into these programs without `gpumemtrace run`, which would complete their files.
WITHOUT_RUN = ('job',)

FINDINGS = ('Leaks:', '            allocated here:')
WITH_STACKS = ('Leaks:', '  cached')
VERDICT = ('Leaks:', None)
SEGMENTS = ("PyTorch's segments", '      in holes')
TORCH = ('  layer', '  PyTorch has')


def leak(name, shown=FINDINGS):
    return [(f'leaks {name}.leak.gmt.gz', [shown]), (f'leaks {name}.repaired.gmt.gz', [VERDICT])]


# Maps the name of a block to commands, each with the lines to keep.
BLOCKS = {
    'loss-list': [('leaks loss_list.leak.gmt.gz', [('Leaks:', '  The stacks of frees')]),
                  ('leaks loss_list.repaired.gmt.gz', [('Leaks:', '')])],
    'logged': leak('logged_grad_fn'),
    'small': [('report --full small_under_churn.leak.gmt.gz', [TORCH]), *leak('small_under_churn')],
    'cache': leak('activation_cache'),
    'hidden': leak('rnn_hidden'),
    'cycles': leak('cycles'),
    'modules': leak('module_list', WITH_STACKS),
    'parts': [('report --full module_list.leak.gmt.gz', [('A step', '')])],
    'evaluation': leak('eval_outputs'),
    'checkpoint': leak('checkpoint_kept', WITH_STACKS),
    'extension': leak('extension', WITH_STACKS),
    'pinned': leak('pinned'),
    'ranks': [('leaks two_ranks.leak.r0.gmt.gz two_ranks.leak.r1.gmt.gz',
               [('two_ranks', None), VERDICT, ('two_ranks', None), FINDINGS]),
              ('leaks two_ranks.repaired.r0.gmt.gz two_ranks.repaired.r1.gmt.gz',
               [('two_ranks', None), VERDICT, ('two_ranks', None), VERDICT])],
    'no-leak': [(f'leaks no_leak_{name}.gmt.gz', [('Leaks:', '')]) for name in NO_LEAK],
    'reserved': [('report --section segments no_leak_reserved.gmt.gz', [SEGMENTS])],
    'full': [('report --full full.gmt.gz', [('Out of memory', '')])],
    'holes': [('report --full holes.gmt.gz', [('Out of memory', ''), ("PyTorch's segments", '')])],
    'expandable': [('check holes.gmt.gz', [('GMT005', '  do:')]),
                   ('check expandable.gmt.gz', [('NOT JUDGED', None), ('passed  GMT005', None)])],
    'retried': [('report --full retried.gmt.gz', [('Out of memory', '')])],
    'outside-pytorch': [('report --section segments outside-pytorch.gmt.gz', [("PyTorch's segments", '  segments'), ('  outside of segments', None)])],
    'killed': [('report job.gmt.gz', [('gpumemtrace: hint', None), ('peak', '')]),
               ('recover job.gmt.gz', [('job.gmt.gz', None)]),
               ('report job.gmt.gz', [('peak', '')])],
    'lengths': [(f'report --section segments {name}.gmt.gz', [SEGMENTS])
                for name in ('as-they-come', 'longest-first')],
    'temporaries': [(f'report --section devices,temporaries {name}.gmt.gz', [TORCH, ('Temporaries', '')])
                    for name in ('broadcast', 'cdist')],
    'peak': [('report --full plain.gmt.gz', [('A step', ''), ('Composition of', '')])],
    'by-category': [('report --by category plain.gmt.gz', [('torch on', '')])],
    'by-line': [('report --by line plain.gmt.gz', [('torch on', '')])],
    'by-operator': [('report --by operator --sort total --limit 5 plain.gmt.gz', [('torch on', '')])],
    'by-module': [('report --by module plain.gmt.gz', [('torch on', '')])],
    'diff': [('diff plain.gmt.gz checkpointed.gmt.gz', [('torch on', '  live'), ('Peak of torch', '')])],
    'check': [('check --baseline mem.baseline --update-baseline loss_list.repaired.gmt.gz', [('PASSED', None)]),
              ('check --baseline mem.baseline loss_list.leak.gmt.gz', [('FAILED', '  do:'), ('GMT004', '  do:')])],
}
