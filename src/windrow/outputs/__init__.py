"""Outputs of commands. They never overlap an input, replace only files of their own kind, and appear all at once."""

from windrow.outputs.apart import check_apart, local_path
from windrow.outputs.own import Recogniser
from windrow.outputs.target import Target

__all__ = ["Recogniser", "Target", "check_apart", "local_path"]
