def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    n = num_buckets // 2 if bidirectional else num_buckets
    e = n // 2
    # The smallest real distance of each bucket but the first.
    borders = [float(d) for d in range(1, e + 1)]
    borders += [e * (max_distance / e) ** (j / (n - e)) for j in range(1, n - e)]
    delta = distance.abs() if bidirectional else (-distance).clamp(min=0)
    bucket = torch.bucketize(delta.double(), torch.tensor(borders, dtype=torch.float64), right=True)
    return bucket + n * (distance > 0) if bidirectional else bucket


def bucket_bias(table, num_queries, num_keys, max_distance, bidirectional=True, offset=0):
    distance = torch.arange(num_keys) - torch.arange(num_queries).unsqueeze(-1) - offset
    bucket = relative_bucket(distance, len(table), max_distance, bidirectional)
    return torch.stack([column[bucket] for column in table.unbind(dim=1)])
