"""Build outside of the source tree: installing a checkout leaves neither build/ nor *.egg-info in it.

Everything else is in setup.cfg, where these two folders could only be fixed names.
"""

import tempfile

import setuptools

scratch = tempfile.TemporaryDirectory()  # removed when the process of the build ends
setuptools.setup(options={"build": {"build_base": scratch.name}, "egg_info": {"egg_base": scratch.name}})
