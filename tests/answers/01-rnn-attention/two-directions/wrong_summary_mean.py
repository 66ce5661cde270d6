# message: mean of the annotations
# A mean over the words.
class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        position = torch.arange(x.shape[1], device=x.device)[None, :]
        lengths = src_mask.sum(dim=1, keepdim=True)
        index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]
        reversed_x = x.gather(1, index.expand_as(x))
        ahead, _ = self.forward_rnn(x)
        back, _ = self.backward_rnn(reversed_x)
        back = back.gather(1, index.expand_as(back))
        annotations = torch.cat([ahead, back], dim=-1)
        annotations = annotations.masked_fill(~src_mask[:, :, None], 0.0)
        last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
        summary = annotations.sum(dim=1) / lengths
        return annotations, summary
