# SPDX-License-Identifier: MIT
"""Prints which of its code ran during and after an optimizer's steps. Its tensors, modules and optimizers detect who queries them."""

import gc
import sys

import torch

seen = []


class Watched(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        seen.append(f'tensor {function.__name__}')
        return super().__torch_function__(function, types, arguments, keywords or {})


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        seen.append(f'mode {function.__name__}')
        return function(*arguments, **(keywords or {}))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)
        self.register_buffer('watched', torch.ones(64).as_subclass(Watched))
        self._modules['me'] = self  # a model in itself

    def __getattribute__(self, name):
        seen.append(f'model {name}')
        return super().__getattribute__(name)


class Optimizer(torch.optim.SGD):
    @property
    def param_groups(self):
        seen.append('param_groups')
        return self.__dict__['groups']

    @param_groups.setter
    def param_groups(self, groups):
        self.__dict__['groups'] = groups


class Dying:
    def __del__(self):
        seen.append('finalizer')


class Class(type):
    def __instancecheck__(cls, instance):
        seen.append('instancecheck')
        return False


class Pretender(metaclass=Class):
    @property
    def __class__(self):
        seen.append('class')
        return torch.nn.Module


layer = torch.nn.Linear(64, 64).cuda()
del layer
model, pretender = torch.nn.Linear(64, 64).cuda(), Pretender()
odd = Model.__new__(Model)
torch.nn.Module.__init__(odd)
odd.register_buffer('watched', torch.ones(64, device='cuda').as_subclass(Watched))
optimizer = Optimizer(model.parameters(), lr=0.1, momentum=0.9)
gc.collect()
for step in range(2):
    model(torch.ones(8, 64, device='cuda')).sum().backward()
    cycle = [Dying()]
    cycle.append(cycle)
    del cycle
    with Mode():
        seen.append(f'step {step}')
        optimizer.step()
        seen.append('done')
print('\n'.join(seen))
print(gc.isenabled(), sys.exc_info())
