#!/usr/bin/env bash
# uvicorn 0.54.0 (PyPI)
# Behaviour: after SIGTERM and an orderly shutdown the process ends by SIGTERM (status 143 in a shell), not with 0: the
#   signal is raised again at the end.
# Expected: status 0, as after an orderly shutdown of most servers.
# Matters: a webhook server's container ends as failed at every rollout, and a Job with it as a side container, too.
. "$(dirname "$0")/lib.sh"
pypi uvicorn==0.54.0

cat >application.py <<'CODE'
async def application(scope, receive, send):
    """Take part in the start and the end only."""
    while scope["type"] == "lifespan":
        message = await receive()
        print(message["type"], flush=True)
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
CODE

observe python - <<'CODE'
import signal
import subprocess
import sys

command = [sys.executable, "-m", "uvicorn", "application:application", "--port", "0"]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for line in process.stderr:
    if "running on" in line:
        break
process.send_signal(signal.SIGTERM)
output, _ = process.communicate(timeout=20)
print(*output.split(), process.returncode)
CODE
expect "lifespan.startup lifespan.shutdown -15"
