# SPDX-License-Identifier: MIT
"""Keeps 1 MiB of each of 40 steps."""

import inspect
import json

import jax
import jax.numpy as jnp
from jax._src import hardware_utils

import gpumemtrace

hardware_utils.has_visible_nvidia_gpu = lambda: True  # there is no /dev/nvidia0


@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).sum())(w)


w, x, history = jnp.ones((256, 256)), jnp.ones((64, 256)), []
for number in range(40):
    w = step(w, x)
    history.append(jnp.ones((512, 512)) + number)
    line = inspect.currentframe().f_lineno - 1
    gpumemtrace.step()
w.block_until_ready()
print(
    json.dumps(
        {
            "line": line,
            "device": jax.devices()[0].platform,
            "in_use_bytes": jax.devices()[0].memory_stats()["bytes_in_use"],
        }
    )
)
