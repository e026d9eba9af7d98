"""The synopses of Arasu and Manku: blocks of the stream at many levels."""
