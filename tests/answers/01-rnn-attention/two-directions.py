# %% right: by_length
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


# %% right: packed
class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        lengths = src_mask.sum(dim=1)
        size = x.shape[1]

        def turn(y):
            rows = [
                torch.cat([row[:n].flip(0), row[n:]])
                for row, n in zip(y, lengths.tolist(), strict=True)
            ]
            return torch.stack(rows)

        def read(rnn, y):
            packed = nn.utils.rnn.pack_padded_sequence(
                y, lengths, batch_first=True, enforce_sorted=False
            )
            states, last = rnn(packed)
            states, _ = nn.utils.rnn.pad_packed_sequence(
                states, batch_first=True, total_length=size
            )
            return states, last[0]

        ahead, end = read(self.forward_rnn, x)
        back, start = read(self.backward_rnn, turn(x))
        return torch.cat([ahead, turn(back)], dim=-1), torch.cat([end, start], dim=-1)


# %% right: shifted_flip
class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        size = x.shape[1]
        lengths = src_mask.sum(dim=1)
        rows = torch.arange(x.shape[0])[:, None]
        # The whole row turned round, then shifted to the left by the number of padded positions.
        index = (
            torch.arange(size - 1, -1, -1)[None] - (size - lengths)[:, None]
        ) % size
        keep = src_mask[:, :, None]
        ahead = self.forward_rnn(x)[0] * keep
        back = self.backward_rnn(x[rows, index])[0][rows, index] * keep
        summary = torch.cat([ahead[rows[:, 0], lengths - 1], back[:, 0]], dim=-1)
        return torch.cat([ahead, back], dim=-1), summary


# %% wrong: added | says: side by side
# The two states are added.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = ahead + back

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = torch.cat([ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1)


# %% wrong: axes_exchanged | says: two axes are exchanged
# The networks get the batch where they expect the words, and batch_first=True.
# -         ahead, _ = self.forward_rnn(x)
# -         back, _ = self.backward_rnn(reversed_x)
# +         ahead = self.forward_rnn(x.transpose(0, 1))[0].transpose(0, 1)
# +         back = self.backward_rnn(reversed_x.transpose(0, 1))[0].transpose(0, 1)


# %% wrong: bidirectional_gru | says: state_dict lacks
# One GRU with bidirectional=True.
# -         self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# -         self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# +         self.rnn = nn.GRU(d_input, d_hidden, batch_first=True, bidirectional=True)


# %% wrong: gru_cells_names | says: state_dict lacks
# Other names for the parts.
# -         self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# -         self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# +         self.left_to_right = nn.GRU(d_input, d_hidden, batch_first=True)
# +         self.right_to_left = nn.GRU(d_input, d_hidden, batch_first=True)

# -         ahead, _ = self.forward_rnn(x)
# -         back, _ = self.backward_rnn(reversed_x)
# +         ahead, _ = self.left_to_right(x)
# +         back, _ = self.right_to_left(reversed_x)


# %% wrong: halves_swapped | says: halves are swapped
# The backward state comes first.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([back, ahead], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = torch.cat([ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1)


# %% wrong: not_batch_first | says: batch_first=True is missing
# The GRU is left at its default.
# -         self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# -         self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# +         self.forward_rnn = nn.GRU(d_input, d_hidden)
# +         self.backward_rnn = nn.GRU(d_input, d_hidden)


# %% wrong: not_reversed | says: reads from left to right
# The second network reads forwards.
# -         reversed_x = x.gather(1, index.expand_as(x))
# +         reversed_x = x

# -         back = back.gather(1, index.expand_as(back))


# %% wrong: not_turned_back | says: Turn them back
# The backward states stay in reading order.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         back = back.gather(1, index.expand_as(back))
# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])

# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# +             [ahead.gather(1, last)[:, 0], back.gather(1, last)[:, 0]], dim=-1


# %% wrong: one_network | says: forward_rnn reads both ways
# One network is used twice.
# -         back, _ = self.backward_rnn(reversed_x)
# +         back, _ = self.forward_rnn(reversed_x)


# %% wrong: only_states_reversed | says: only the states are
# The words are not turned round.
# -         reversed_x = x.gather(1, index.expand_as(x))
# +         reversed_x = x


# %% wrong: padding_not_zeroed | says: padded positions must be 0
# The states behind the sentence stay.
# -         annotations = annotations.masked_fill(~src_mask[:, :, None], 0.0)


# %% wrong: reversed_across_batch | says: reads from left to right|must depend|expected
# The batch is turned round.
# -         reversed_x = x.gather(1, index.expand_as(x))
# +         reversed_x = x.flip(0)

# -         back = back.gather(1, index.expand_as(back))
# +         back = back.flip(0)


# %% wrong: shared_network | says: nothing shared
# Both names are one network.
# -         self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# +         self.backward_rnn = self.forward_rnn


# %% wrong: summary_at_the_end | says: taken at the last word
# Both halves of the last annotation.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])

# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# +             [ahead.gather(1, last)[:, 0], back.gather(1, last)[:, 0]], dim=-1


# %% wrong: summary_at_the_start | says: taken at position 0
# Both halves of the first annotation.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = annotations[:, 0]


# %% wrong: summary_last_column | says: behind the padding
# The last column of the annotations.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = torch.cat([annotations[:, -1, : ahead.shape[-1]], back[:, 0]], dim=-1)


# %% wrong: summary_mean | says: mean of the annotations
# A mean over the words.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = annotations.sum(dim=1) / lengths


# %% wrong: summary_run_on | says: has read the padding too
# The last state of the forward network.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = torch.cat([ahead[:, -1], back[:, 0]], dim=-1)


# %% wrong: summary_swapped | says: halves are swapped: forward
# The halves of the summary are swapped.
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         index = torch.where(src_mask, lengths - 1 - position, position)[:, :, None]

# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.cat([ahead, back], dim=-1)

# -         last = (lengths - 1)[:, :, None].expand(
# -             -1, 1, ahead.shape[-1]
# -         )
# -         summary = torch.cat(
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# -         )
# +         last = (lengths - 1)[:, :, None].expand(-1, 1, ahead.shape[-1])
# +         summary = torch.cat([back[:, 0], ahead.gather(1, last)[:, 0]], dim=-1)


# %% wrong: whole_row_reversed | says: padding is reversed, too
# flip(1) on the padded batch.
# -         reversed_x = x.gather(1, index.expand_as(x))
# +         reversed_x = x.flip(1)

# -         back = back.gather(1, index.expand_as(back))
# +         back = back.flip(1)


# %% wrong: zeros_read | says: Zeros change the state too
# Padding is zeroed, then read first.
# -         reversed_x = x.gather(1, index.expand_as(x))
# +         reversed_x = (x * src_mask[:, :, None]).flip(1)

# -         back = back.gather(1, index.expand_as(back))
# +         back = back.flip(1)


# %% wrong: clears_the_padding_in_place | says: argument x is changed|changes its arguments
# -         reversed_x = x.gather(1, index.expand_as(x))
# +         x.masked_fill_(~src_mask[:, :, None], 0.0)
# +         reversed_x = x.gather(1, index.expand_as(x))

# %% wrong: keeps_the_table_of_a_shape | says: earlier call|second time|summary|kept
# -         index = torch.where(src_mask, lengths - 1 - position, position)[
# -             :, :, None
# -         ]
# +         known = self.__dict__.setdefault("known", {})
# +         if src_mask.shape not in known:
# +             known[src_mask.shape] = torch.where(src_mask, lengths - 1 - position, position)
# +         index = known[src_mask.shape][:, :, None]

# %% wrong: squeezes_the_batch | says: number of dimensions|one sentence
# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# +             [ahead.gather(1, last).squeeze(), back[:, 0]], dim=-1

# %% wrong: backward_not_learned | says: not learned
# -         self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
# +         self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True).requires_grad_(False)

# %% wrong: other_in_eval | says: annotations: wrong
# -         annotations = annotations.masked_fill(~src_mask[:, :, None], 0.0)
# +         if self.training:
# +             annotations = annotations.masked_fill(~src_mask[:, :, None], 0.0)

# %% wrong: vectors_of_zeros_are_padding | says: vector is 0 is taken for padding
# -         position = torch.arange(x.shape[1], device=x.device)[None, :]
# +         src_mask = src_mask & x.any(dim=-1)
# +         position = torch.arange(x.shape[1], device=x.device)[None, :]

# %% wrong: last_state_after_the_padding | says: has read the padding by then
# -         back, _ = self.backward_rnn(reversed_x)
# +         back, end = self.backward_rnn(reversed_x)

# -             [ahead.gather(1, last)[:, 0], back[:, 0]], dim=-1
# +             [ahead.gather(1, last)[:, 0], end[0]], dim=-1

# %% wrong: state_handed_on | says: starts from the forward one's last state
# -         ahead, _ = self.forward_rnn(x)
# -         back, _ = self.backward_rnn(reversed_x)
# +         ahead, end = self.forward_rnn(x)
# +         back, _ = self.backward_rnn(reversed_x, end)

# %% wrong: states_take_turns | says: two states take turns
# -         annotations = torch.cat(
# -             [ahead, back], dim=-1
# -         )
# +         annotations = torch.stack([ahead, back], dim=-1).flatten(-2)


# %% right: rolled
class BidirectionalEncoder(nn.Module):
    def __init__(self, d_input, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_input, d_hidden, batch_first=True)

    def forward(self, x, src_mask):
        keep = src_mask.unsqueeze(-1)
        n = src_mask.sum(1)
        S = x.size(1)
        # a full flip puts the padding in front: roll it to the end, row by row
        flipped = torch.stack([row.flip(0).roll(int(k) - S, 0) for row, k in zip(x, n)])
        f = self.forward_rnn(x)[0]
        b = self.backward_rnn(flipped)[0]
        b = torch.stack([row.roll(S - int(k), 0).flip(0) for row, k in zip(b, n)])
        f, b = torch.where(keep, f, 0.0), torch.where(keep, b, 0.0)
        is_last = (torch.arange(S) == (n - 1)[:, None]).unsqueeze(-1)
        return torch.cat([f, b], -1), torch.cat([(f * is_last).sum(1), b[:, 0]], -1)


# %% wrong: sorted_and_left_so | says: not brought back to their places
# -         position = torch.arange(x.shape[1], device=x.device)[None, :]
# +         order = src_mask.sum(dim=1).argsort(descending=True)
# +         x, src_mask = x[order], src_mask[order]
# +         position = torch.arange(x.shape[1], device=x.device)[None, :]


# %% wrong: backward_network_cut_off, of: by_length | says: what its network reads is cut off
# -             back, start = self.backward_rnn(words.flip(1))
# +             back, start = self.backward_rnn(words.flip(1).detach())


# %% wrong: summary_stays_sorted | says: summary: the sentences stand in the order of their lengths
# The annotations are brought back to their places, and the summary is not.
# -         return annotations, summary
# +         order = src_mask.sum(dim=1).argsort(descending=True)
# +         return annotations, summary[order]


# %% wrong: turned_as_lists, of: by_length | says: is cut off, for example by detach, .data, .tolist
# -             back, start = self.backward_rnn(words.flip(1))
# +             turned = [sentence[::-1] for sentence in words.tolist()]
# +             back, start = self.backward_rnn(torch.tensor(turned, dtype=x.dtype))
