"""The compiled engine of aggregates: loops over the states of many frames or windows at once."""
