"""Priority work queue of controllers; part of `clientgo.workqueue`, and kept under this name for programs."""

from clientgo.workqueue.order import LOW, NORMAL
from clientgo.workqueue.priority import STARVATION_INTERVAL, ByPriority, PriorityQueue

__all__ = ["LOW", "NORMAL", "STARVATION_INTERVAL", "ByPriority", "PriorityQueue"]
