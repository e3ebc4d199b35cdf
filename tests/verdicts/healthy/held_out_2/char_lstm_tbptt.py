# SPDX-License-Identifier: MIT
"""Character LSTM with truncated backpropagation: the state goes from chunk to chunk, detached, and the chunks' losses are floats."""
import torch
import torch.nn as nn
import truth

text = 'to be or not to be that is the question ' * 400
letters = sorted(set(text))
data = torch.tensor([letters.index(c) for c in text])


class CharRNN(nn.Module):
    def __init__(self, n, hidden=64):
        super(CharRNN, self).__init__()
        self.hidden = hidden
        self.encoder = nn.Embedding(n, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True)
        self.decoder = nn.Linear(hidden, n)

    def init_hidden(self, batch):
        return tuple(torch.zeros(2, batch, self.hidden).cuda() for _ in range(2))

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.encoder(x), hidden)
        return self.decoder(out), hidden


def repackage(hidden):
    return tuple(h.detach() for h in hidden)


rnn = CharRNN(len(letters)).cuda()
optimizer = torch.optim.RMSprop(rnn.parameters(), lr=0.002)
rows = data[:len(data) // 8 * 8].view(8, -1)
chunk, history = 10, []
for epoch in range(2):
    hidden = rnn.init_hidden(8)
    for start in range(0, 400, chunk):
        hidden = repackage(hidden)
        x, y = rows[:, start:start + chunk].cuda(), rows[:, start + 1:start + 1 + chunk].cuda()
        out, hidden = rnn(x, hidden)
        loss = nn.functional.cross_entropy(out.reshape(-1, len(letters)), y.reshape(-1))
        rnn.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        truth.end_of_step()
print(len(history), history[-1])
truth.declare_no_leak()
