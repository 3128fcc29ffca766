"""Work queues with deduplication, delays and rate limits. A key is never processed by two workers at a time.

`WorkQueue` ▸ `DelayingQueue` (`add_after`) ▸ `RateLimitingQueue` (`add_rate_limited`, `forget`), and the limiters.
"""

from clientgo.workqueue.delaying import DelayingQueue
from clientgo.workqueue.metrics import keep_unfinished_work_updated, update_unfinished_work
from clientgo.workqueue.queue import FIFO, ShutDown, Storage, WorkQueue
from clientgo.workqueue.ratelimiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from clientgo.workqueue.ratelimiting import RateLimitingQueue
from clientgo.workqueue.state import QueueState

__all__ = [
    "WorkQueue", "DelayingQueue", "RateLimitingQueue", "ShutDown", "Storage", "FIFO", "QueueState",
    "RateLimiter", "BucketRateLimiter", "ItemExponentialFailureRateLimiter", "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter", "WithMaxWaitRateLimiter", "default_controller_rate_limiter", "default_item_based_rate_limiter",
    "keep_unfinished_work_updated", "update_unfinished_work",
]  # fmt: skip
