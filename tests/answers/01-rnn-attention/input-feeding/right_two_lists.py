class InputFeedingDecoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_state, d_memory):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.cell = nn.GRUCell(d_embedding + d_state, d_state)
        self.score = nn.Linear(d_memory, d_state, bias=False)
        self.combine = nn.Linear(d_memory + d_state, d_state, bias=False)
        self.output = nn.Linear(d_state, vocab_size)

    def forward(self, decoder_input, memory, src_mask):
        size = self.cell.hidden_size
        state = fed = torch.zeros(memory.shape[0], size)
        steps = []
        for words in decoder_input.T:
            state = self.cell(torch.cat((self.embedding(words), fed), dim=1), state)
            scores = torch.einsum("bs,bjs->bj", state, self.score(memory))
            weights = torch.where(src_mask, scores, -math.inf).softmax(dim=1)
            context = torch.einsum("bj,bjh->bh", weights, memory)
            fed = self.combine(torch.cat((context, state), dim=1)).tanh()
            steps.append((self.output(fed), weights))
        logits, weights = zip(*steps, strict=True)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)
