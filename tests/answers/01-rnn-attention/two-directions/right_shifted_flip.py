class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        size = x.shape[1]
        lengths = src_mask.sum(dim=1)
        rows = torch.arange(x.shape[0])[:, None]
        # The whole row turned round, then shifted to the left by the number of padded positions.
        index = (torch.arange(size - 1, -1, -1)[None] - (size - lengths)[:, None]) % size
        keep = src_mask[:, :, None]
        ahead = self.forward_rnn(x)[0] * keep
        back = self.backward_rnn(x[rows, index])[0][rows, index] * keep
        summary = torch.cat([ahead[rows[:, 0], lengths - 1], back[:, 0]], dim=-1)
        return torch.cat([ahead, back], dim=-1), summary
