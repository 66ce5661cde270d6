"""A trained model at work: search, sentences, scores, and the folder it lies in."""
