"""Entry point of the code generator: clients, caches and manifests from dataclasses or third-party CRDs.

    clientgo-codegen --input-module controller.api.v1alpha1 --output-package generated \\
        --crd-dir artifacts/crd --boilerplate hack/boilerplate.py.txt [--verify]
    clientgo-codegen --config hack/codegen.yaml [--verify]

`python -m clientgo.codegen` is equivalent. docs/codegen.md describes the options and decorators.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from clientgo.codegen.config import read_config
from clientgo.codegen.files import Output, complain, finish, header_of
from clientgo.codegen.generate import generate
from clientgo.codegen.options import CodegenOptions, options_of, options_parser
from clientgo.codegen.problems import CodegenError, Problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or verify, and return the exit code; nothing is written if any input has an error.

    Modules are imported from the current folder, which is not in the path of an installed script.
    """
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    words = sys.argv[1:] if arguments is None else arguments
    config = options_parser().parse(words).config
    try:
        outputs = [[*output, *words] for output in read_config(config)] if config is not None else [words]
        return _run(options_of(config, outputs))
    except CodegenError as error:
        return complain([str(error)])


def _run(runs: Sequence[CodegenOptions]) -> int:
    problems, combined = Problems(), Output(header_of(runs[0]))
    for options in runs:
        output = _output(options, problems)
        for file in sorted(combined.paths & output.paths):
            problems.at_module(str(file), 0, "two outputs write this file: change the folder of one")
        combined.texts |= output.texts
        combined.folders += output.folders
        combined.patched |= output.patched
    if problems:
        return complain(problems)
    complain(problems.warnings)
    return finish(combined, runs[0])


def _output(options: CodegenOptions, problems: Problems) -> Output:
    if not options.built_in:
        return generate(options, problems)
    # Only this project uses it, and importing the official client takes a quarter of a second.
    from clientgo.codegen.builtin.generate import generate_builtin  # noqa: PLC0415

    return generate_builtin(options, problems)


if __name__ == "__main__":
    sys.exit(main())
