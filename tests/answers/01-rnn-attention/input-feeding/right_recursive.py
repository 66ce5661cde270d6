class InputFeedingDecoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_state, d_memory):
        super().__init__()
        self.output = nn.Linear(d_state, vocab_size)
        self.combine = nn.Linear(d_memory + d_state, d_state, bias=False)
        self.score = nn.Linear(d_memory, d_state, bias=False)
        self.cell = nn.GRUCell(d_embedding + d_state, d_state)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.d_state = d_state

    def step(self, words, state, fed, memory, src_mask):
        state = self.cell(torch.cat([self.embedding(words), fed], -1), state)
        query = state @ self.score.weight
        scores = (memory * query[:, None]).sum(-1)
        weights = scores.masked_fill(~src_mask, -math.inf).softmax(-1)
        context = (weights[..., None] * memory).sum(1)
        return state, torch.tanh(self.combine(torch.cat([context, state], -1))), weights

    def forward(self, decoder_input, memory, src_mask):
        batch, length = decoder_input.shape
        state, fed = torch.zeros(2, batch, self.d_state)
        logits = torch.empty(batch, 0, self.output.out_features)
        weights = torch.empty(batch, 0, memory.shape[1])
        for t in range(length):
            state, fed, new = self.step(decoder_input[:, t], state, fed, memory, src_mask)
            logits = torch.cat([logits, self.output(fed)[:, None]], dim=1)
            weights = torch.cat([weights, new[:, None]], dim=1)
        return logits, weights
