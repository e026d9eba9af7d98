"""The demo: a synthetic day of traffic and the tow of a dye probe, framed and plotted."""

from windrow.demo.run import run_demo
from windrow.demo.stream import run_stream_demo
from windrow.demo.tow import Tow, dye_tow
from windrow.demo.traffic import TrafficDay, traffic_day

__all__ = ["Tow", "TrafficDay", "dye_tow", "run_demo", "run_stream_demo", "traffic_day"]
