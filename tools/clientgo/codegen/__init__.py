"""Code generator: clients, listers, informers and manifests from classes, CRDs and OpenAPI documents.

`inputs` reads what the options name into plain records; `crd` makes and checks schemas; `render` turns records
into Python source and opens no file; `files` writes or verifies. Nothing at run time imports this package.
"""
