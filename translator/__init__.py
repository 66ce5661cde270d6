"""The application around the library: corpora, batching, training, decoding, evaluation."""
