def one_bucket(d, num_buckets, max_distance, bidirectional):
    n, start, delta = num_buckets, 0, max(-d, 0)
    if bidirectional:
        n, delta = num_buckets // 2, abs(d)
        start = n if d > 0 else 0
    e = n // 2
    if delta < e:
        return start + delta
    place = math.log(delta / e) / math.log(max_distance / e)
    return start + min(n - 1, e + int(place * (n - e)))


def relative_bucket(distance, num_buckets, max_distance, bidirectional=True):
    found = [
        one_bucket(d, num_buckets, max_distance, bidirectional) for d in distance.flatten().tolist()
    ]
    return torch.tensor(found, dtype=torch.int64).reshape(distance.shape)


def bucket_bias(table, num_queries, num_keys, max_distance, bidirectional=True, offset=0):
    s, p = torch.meshgrid(
        torch.arange(num_keys), torch.arange(offset, offset + num_queries), indexing="xy"
    )
    bucket = relative_bucket(s - p, table.shape[0], max_distance, bidirectional)
    return table.T[:, bucket]
