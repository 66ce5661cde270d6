# message: nothing is fed back
# The fed vector stays zero.
class InputFeedingDecoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_state, d_memory):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.cell = nn.GRUCell(d_embedding + d_state, d_state)
        self.score = nn.Linear(d_memory, d_state, bias=False)
        self.combine = nn.Linear(d_memory + d_state, d_state, bias=False)
        self.output = nn.Linear(d_state, vocab_size)

    def forward(self, decoder_input, memory, src_mask):
        embedded = self.embedding(decoder_input)
        keys = self.score(memory)
        state = memory.new_zeros(memory.shape[0], keys.shape[-1])
        fed = torch.zeros_like(state)
        all_fed, all_weights = [], []
        for t in range(decoder_input.shape[1]):
            state = self.cell(torch.cat([embedded[:, t], fed], dim=-1), state)
            scores = (keys @ state[:, :, None])[:, :, 0]
            weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
            context = (weights[:, None, :] @ memory)[:, 0]
            all_fed.append(torch.tanh(self.combine(torch.cat([context, state], dim=-1))))
            all_weights.append(weights)
        logits = self.output(torch.stack(all_fed, dim=1))
        return logits, torch.stack(all_weights, dim=1)
