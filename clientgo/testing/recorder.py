"""The fake recorder, beside the other fakes."""

from clientgo.record.fake import FakeRecorder

__all__ = ["FakeRecorder"]
