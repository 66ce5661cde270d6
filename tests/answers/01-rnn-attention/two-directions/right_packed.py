class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        lengths = src_mask.sum(dim=1)
        size = x.shape[1]

        def turn(y):
            rows = [torch.cat([row[:n].flip(0), row[n:]])
                    for row, n in zip(y, lengths.tolist(), strict=True)]
            return torch.stack(rows)

        def read(rnn, y):
            packed = nn.utils.rnn.pack_padded_sequence(
                y, lengths, batch_first=True, enforce_sorted=False
            )
            states, last = rnn(packed)
            states, _ = nn.utils.rnn.pad_packed_sequence(
                states, batch_first=True, total_length=size
            )
            return states, last[0]

        ahead, end = read(self.forward_rnn, x)
        back, start = read(self.backward_rnn, turn(x))
        return torch.cat([ahead, turn(back)], dim=-1), torch.cat([end, start], dim=-1)
