# SPDX-License-Identifier: MIT
"""Molecular dynamics with a learned force correction: the trajectory goes into a buffer on the device that doubles when it is full."""
import torch
import truth


class Trajectory:
    def __init__(self, atoms, capacity=4):
        self.frames = torch.empty(capacity, atoms, 3, device='cuda')
        self.count = 0

    def add(self, positions):
        if self.count == len(self.frames):
            bigger = torch.empty(2 * self.count, *positions.shape, device='cuda')  # leaks
            bigger[:self.count].copy_(self.frames)
            self.frames = bigger
        self.frames[self.count].copy_(positions)
        self.count += 1


correction = torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.Softplus(), torch.nn.Linear(32, 3)).cuda()
optimizer = torch.optim.SGD(correction.parameters(), lr=1e-3)
atoms, dt = 500, 0.002
positions = torch.rand(atoms, 3, device='cuda')
velocities = torch.zeros_like(positions)
trajectory = Trajectory(atoms)

for frame in range(180):
    force = -positions + correction(positions)
    mismatch = (force + 1.1 * positions).square().sum(1).mean()
    optimizer.zero_grad()
    mismatch.backward()
    optimizer.step()
    velocities += dt * force.detach()
    positions = positions + dt * velocities
    trajectory.add(positions)
    truth.end_of_step()
print(trajectory.count, 'frames')
truth.declare_leaks(truth.leak('# leaks', first_step=4, sizes='doubling'))
