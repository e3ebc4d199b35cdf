# SPDX-License-Identifier: MIT
"""An inference server appends each request and its response to a session's transcript on the device."""
import torch
from torch import nn

import truth


class Session:
    def __init__(self):
        self.transcript = []


class Server:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32)).cuda().eval()
        self.sessions = {}

    @torch.inference_mode()
    def handle(self, user, request):
        session = self.sessions.setdefault(user, Session())
        response = self.model(request)  # leaks
        session.transcript.append(response)
        return response.argmax(-1).tolist()


server = Server()
for number in range(60):
    server.handle(f'user{number % 4}', torch.randn(5, 64, device='cuda'))
    truth.end_of_step()
kept = [response for session in server.sessions.values() for response in session.transcript]
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*kept) / 60))
