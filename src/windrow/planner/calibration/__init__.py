"""Calibration: measures what synopses cost on a machine and fits the cost model."""
