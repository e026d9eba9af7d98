"""Where commands write: outputs that share nothing with an input, replace only their own kind, and appear whole."""

from windrow.outputs.apart import check_apart, local_path
from windrow.outputs.own import Recogniser
from windrow.outputs.target import Target

__all__ = ["Recogniser", "Target", "check_apart", "local_path"]
