# SPDX-License-Identifier: MIT
"""Keeps 1 MiB of each of 40 steps."""

import inspect
import json

import numpy as np
import tensorflow as tf

import gpumemtrace

weights, kept = tf.Variable(np.ones((256, 256), np.float32)), []


@tf.function
def step(x):
    weights.assign_sub(0.1 * tf.matmul(x, x, transpose_a=True)[:256, :256])
    return tf.reduce_sum(weights)


for number in range(40):
    step(tf.ones((64, 256)))
    kept.append(tf.ones((512, 512)) + float(number))
    line = inspect.currentframe().f_lineno - 1
    gpumemtrace.step()
print(json.dumps({"line": line, "in_use_bytes": tf.config.experimental.get_memory_info("GPU:0")["current"]}))
