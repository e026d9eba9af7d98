"""Histograms of a window: buckets that grow coarser with age, with a guaranteed error bound."""
