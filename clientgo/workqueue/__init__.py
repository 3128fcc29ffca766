"""Work queue with deduplication, delays, rate limits and priorities. A key is never processed by two workers at a time.

`WorkQueue` is the one class. `DelayingQueue` and `RateLimitingQueue` are client-go's names for it, `PriorityQueue` is
controller-runtime's for one ordered by priority.
"""

from clientgo.workqueue.metrics import keep_unfinished_work_updated, update_unfinished_work
from clientgo.workqueue.order import FIFO, LOW, NORMAL, Storage
from clientgo.workqueue.priorityqueue import ByPriority, PriorityQueue
from clientgo.workqueue.queue import DelayingQueue, RateLimitingQueue, ShutDown, WorkQueue
from clientgo.workqueue.ratelimiters import (
    BackoffRateLimiter,
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from clientgo.workqueue.state import QueueState

__all__ = [
    "WorkQueue", "DelayingQueue", "RateLimitingQueue", "PriorityQueue", "ShutDown", "QueueState",
    "Storage", "FIFO", "ByPriority", "NORMAL", "LOW",
    "RateLimiter", "BackoffRateLimiter", "BucketRateLimiter", "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter", "MaxOfRateLimiter", "WithMaxWaitRateLimiter", "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
    "keep_unfinished_work_updated", "update_unfinished_work",
]  # fmt: skip
