"""Names of the log's formats and levels. Command lines need them, and nothing else of the log, to answer --help."""

FORMATS = ("auto", "human", "text", "json")
LEVELS = ("debug", "info", "warning", "error")
