"""What this controller calls itself: in events, as a field manager, as the holder of Leases."""

COMPONENT = "sample-controller"
