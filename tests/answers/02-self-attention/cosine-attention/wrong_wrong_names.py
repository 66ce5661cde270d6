# message: state_dict lacks \['key\.weight', 'query\.weight', 'value\.weight'\]
# Other names, so the given weights can't be loaded.
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_v = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        query = F.normalize(self.W_q(x), dim=-1)
        key = F.normalize(self.W_k(x), dim=-1)
        value = self.W_v(x)
        scores = self.scale * query @ key.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights
