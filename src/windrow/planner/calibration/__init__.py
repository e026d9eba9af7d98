"""Calibration: measure what synopses cost on a machine and fit the cost model."""
