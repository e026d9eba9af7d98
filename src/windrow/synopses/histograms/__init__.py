"""Histograms of a window: buckets that grow coarser with age, with a certain error bound."""
