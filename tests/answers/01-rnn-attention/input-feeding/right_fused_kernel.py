class InputFeedingDecoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_state, d_memory):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.cell = nn.GRUCell(d_embedding + d_state, d_state)
        self.score = nn.Linear(d_memory, d_state, bias=False)
        self.combine = nn.Linear(d_memory + d_state, d_state, bias=False)
        self.output = nn.Linear(d_state, vocab_size)

    def forward(self, decoder_input, memory, src_mask):
        keys = self.score(memory)[:, None]
        values = torch.cat([memory, torch.eye(memory.shape[1]).expand(len(memory), -1, -1)], -1)
        state = torch.zeros(len(memory), keys.shape[-1])
        fed, outputs = state, []
        for embedded in self.embedding(decoder_input).unbind(1):
            state = self.cell(torch.cat([embedded, fed], -1), state)
            look = F.scaled_dot_product_attention(
                state[:, None, None], keys, values[:, None], src_mask[:, None, None], scale=1.0
            )[:, 0, 0]
            context, weights = look.split([memory.shape[2], memory.shape[1]], -1)
            fed = torch.tanh(self.combine(torch.cat([context, state], -1)))
            outputs.append(torch.cat([self.output(fed), weights], -1))
        return torch.stack(outputs, 1).split([self.output.out_features, memory.shape[1]], -1)
