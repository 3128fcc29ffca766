"""The generator: from classes that say what an API is to the files that make it pleasant to use.

Front ends read something (dataclasses, the official client's models) and make plain records of it; `render` turns
records into texts and knows no file; `write` puts texts where they belong or compares them. Nothing at run time imports
this package.
"""
