"""Programs: the main function of a controller, command lines declared as dataclasses, and types of flags.

    @dataclass(frozen=True)
    class Options(LoggingFlags, ClientFlags):
        workers: int = flag(2, "objects processed concurrently (default: 2)", group="work", type=positive, metavar="N")

    options = FlagParser(Options, prog="main.py", description="...").parse(arguments)
    sys.exit(run_program(start, options))

`start(options, stop)` runs until the event `stop` is set.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.program.commandline import (
        CLUSTER,
        LEASES,
        LOGGING,
        SERVING,
        ClientFlags,
        FlagParser,
        LeaderElectionFlags,
        LoggingFlags,
        ServingFlags,
        ShardingFlags,
        flag,
        flag_values,
        setup_logging,
    )
    from clientgo.program.flags import (
        Address,
        address,
        amount,
        finite,
        integer,
        ip_address,
        natural,
        parse_bool,
        port,
        positive,
        seconds,
    )
    from clientgo.program.main import collect_rarely, run_program
else:
    __getattr__ = on_demand(
        __name__,
        {
            "commandline": (
                "CLUSTER LEASES LOGGING SERVING ClientFlags FlagParser LeaderElectionFlags LoggingFlags ServingFlags "
                "ShardingFlags flag flag_values setup_logging"
            ),
            "flags": "Address address amount finite integer ip_address natural parse_bool port positive seconds",
            "main": "collect_rarely run_program",
        },
    )

__all__ = [
    "run_program", "collect_rarely",
    "FlagParser", "flag", "flag_values", "setup_logging",
    "ClientFlags", "LeaderElectionFlags", "LoggingFlags", "ServingFlags", "ShardingFlags",
    "CLUSTER", "LEASES", "LOGGING", "SERVING",
    "Address", "address", "amount", "finite", "integer", "ip_address", "natural", "parse_bool", "port", "positive",
    "seconds",
]  # fmt: skip
