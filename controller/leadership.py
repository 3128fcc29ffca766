"""One replica works, the others stand by: `--leader-elect`."""

from clientgo.leaderelection import Leadership
from controller.turns import WholeTurn


class Leading(Leadership, WholeTurn):
    """The leader's turn is at everything."""

    def describe(self) -> str:
        """Who leads."""
        if self.may_write():
            return "this replica leads"
        return f"standing by; {self.leader or 'nobody'} leads"
