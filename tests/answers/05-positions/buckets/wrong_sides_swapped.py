# message: two sides are swapped
# The past gets n added.
def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    n = num_buckets
    result = torch.zeros_like(distance)
    if bidirectional:
        n = num_buckets // 2
        result = result + n * (distance < 0).long()
        delta = distance.abs()
    else:
        delta = torch.maximum(-distance, torch.zeros_like(distance))
    e = n // 2
    scale = torch.log(delta.clamp(min=1).double() / e) / math.log(max_distance / e)
    far = e + torch.floor(scale * (n - e)).long()
    far = far.clamp(max=n - 1)
    return result + torch.where(delta < e, delta, far)


def bucket_bias(table, num_queries, num_keys, max_distance, bidirectional=True, offset=0):
    p = offset + torch.arange(num_queries)[:, None]
    s = torch.arange(num_keys)[None, :]
    bucket = relative_bucket(s - p, table.shape[0], max_distance, bidirectional)
    return table[bucket].permute(2, 0, 1)
