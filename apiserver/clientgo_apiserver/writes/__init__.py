"""The path of a write: decoding, patches, the pipeline, deletion."""
