"""Shell completion scripts, generated from the command's parser."""

import argparse
from collections.abc import Iterator

_BASH = """\
# Completion of clientgo for bash: source <(clientgo completion bash)
_clientgo() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" given="" word words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) given="$given $word" ;; esac
    done
    case "$given" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _clientgo clientgo
"""

_ZSH = """\
#compdef clientgo
# Completion of clientgo for zsh: source <(clientgo completion zsh)
autoload -U +X bashcompinit && bashcompinit
"""


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the completion script for a shell."""
    completions = list(_words(parser, ()))
    if shell == "fish":
        return "\n".join(["# Completion of clientgo for fish: clientgo completion fish | source", *_fish(completions)])
    # Longer prefixes first: the first matching case wins.
    ordered = sorted(completions, key=lambda row: -len(row[0]))
    cases = "\n".join(f'        {_case(path)}) words="{" ".join(words)}" ;;' for path, words in ordered)
    bash = _BASH.format(cases=cases)
    return _ZSH + bash if shell == "zsh" else bash


Row = tuple[tuple[str, ...], list[str]]


def _words(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Row]:
    words: list[str] = []
    below: list[Row] = []
    for action in parser._actions:  # argparse has no public API for this
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                words.append(name)
                below += _words(sub, (*path, name))
        elif action.option_strings:
            words.append(action.option_strings[-1])
        else:
            words += action.choices or ()
    yield path, words
    yield from below


def _case(path: tuple[str, ...]) -> str:
    return f'" {" ".join(path)}"*' if path else '""'


def _fish(rows: list[Row]) -> Iterator[str]:
    yield "complete -c clientgo -f"
    for path, words in rows:
        subcommands = [other[-1] for other, _ in rows if other[:-1] == path and other]
        conditions = [f"__fish_seen_subcommand_from {word}" for word in path]
        if subcommands:
            conditions.append(f"not __fish_seen_subcommand_from {' '.join(subcommands)}")
        condition = "; and ".join(conditions) or "true"
        for word in words:
            what = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            yield f"complete -c clientgo -n '{condition}' {what}"
