# SPDX-License-Identifier: MIT
"""Ported from a TF1 script: 'summaries' is a dict by global step, written every 5 steps and never emptied (the writer was never ported)."""
import torch
import torch.nn as nn
import truth

FLAGS = dict(num_steps=150, batch_size=24, summary_every=5, learning_rate=0.01)


def build_graph():
    return nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 20)).cuda()


def input_fn():
    while True:
        yield torch.rand(FLAGS['batch_size'], 100).cuda(), torch.randint(0, 20, (FLAGS['batch_size'],)).cuda()


class Session:
    def __init__(self, net):
        self.net = net
        self.global_step = 0
        self.train_op = torch.optim.RMSprop(net.parameters(), lr=FLAGS['learning_rate'])
        self.summaries = {}

    def run(self, feed):
        features, labels = feed
        loss = nn.functional.cross_entropy(self.net(features), labels)
        self.train_op.zero_grad()
        loss.backward()
        self.train_op.step()
        if self.global_step % FLAGS['summary_every'] == 0:
            self.summaries[self.global_step] = torch.cat([p.grad.reshape(-1) for p in self.net.parameters()])  # leaks
        self.global_step += 1
        return loss.item()


sess = Session(build_graph())
feeds = input_fn()
while sess.global_step < FLAGS['num_steps']:
    value = sess.run(next(feeds))
    if sess.global_step % 50 == 0:
        print('global_step', sess.global_step, 'loss', value)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(sess.summaries[0]) / FLAGS['summary_every']))
