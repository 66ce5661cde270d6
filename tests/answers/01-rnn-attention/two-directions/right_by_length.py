class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        hidden = self.forward_rnn.hidden_size
        annotations = x.new_zeros(x.shape[0], x.shape[1], 2 * hidden)
        summary = x.new_zeros(x.shape[0], 2 * hidden)
        lengths = src_mask.sum(dim=1)
        for length in lengths.unique().tolist():
            rows = (lengths == length).nonzero()[:, 0]
            words = x[rows, :length]
            ahead, end = self.forward_rnn(words)
            back, start = self.backward_rnn(words.flip(1))
            both = torch.cat([ahead, back.flip(1)], dim=-1)
            both = F.pad(both, (0, 0, 0, x.shape[1] - length))
            annotations = annotations.index_copy(0, rows, both)
            summary = summary.index_copy(0, rows, torch.cat([end[0], start[0]], dim=-1))
        return annotations, summary
