"""The theory of frames, straight from the definitions in the papers: the oracle of the tests."""
