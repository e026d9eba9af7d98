"""What Windrow costs compared with its peers and the physical limit; see README.md for the rules."""
