"""Fake event recorder."""

from clientgo.record.fake import FakeRecorder

__all__ = ["FakeRecorder"]
