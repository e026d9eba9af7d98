"""The theory of frames, straight from the definitions of the papers: the oracle of the tests."""
