"""The book's own language: a synchronous German-English grammar with word alignments.

`sample` draws sentence pairs, `make_splits` draws training, validation and test sets, `parse` and
`recognise` read sentences of either language, `count` says how large the language is.

The grammar's parts: `nouns` and `verbs` are the lexicon; `phrases`, `options`, `adverbials`,
`clauses` and `sentences` the rules, from the noun phrase up; `engine` draws, realises, parses and
counts; `corpus` makes pairs of derivations.
"""

from translator.grammar.corpus import (
    MAX_LENGTH,
    MIN_LENGTH,
    Pair,
    Splits,
    count,
    held_out_combinations,
    length_counts,
    make_splits,
    parse,
    recognise,
    sample,
)
from translator.grammar.sentences import CONSTRUCTIONS

__all__ = [
    "CONSTRUCTIONS",
    "MAX_LENGTH",
    "MIN_LENGTH",
    "Pair",
    "Splits",
    "count",
    "held_out_combinations",
    "length_counts",
    "make_splits",
    "parse",
    "recognise",
    "sample",
]
