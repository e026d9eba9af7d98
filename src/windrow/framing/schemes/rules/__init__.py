"""What schemes are made of: rules that judge rows, grids, distances and limits, and the compiled loops over them."""
