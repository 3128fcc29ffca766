"""What `init`, `edit` and `create` do in a folder; each tells what it wrote and returns the exit code."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from clientgo.cli.controllers import Controlling, add_controller, built_in, controlling
from clientgo.cli.names import CommandError, domain, project_name, proposed
from clientgo.cli.project import Project, Resource
from clientgo.cli.scaffold import add_api, begin, begin_allowed, resource_of
from clientgo.cli.scaffold_writer import ScaffoldWriter
from clientgo.cli.template_files import parts
from clientgo.cli.webhooks import add_webhooks, asked
from clientgo.codegen.problems import reason_of


def init(options: argparse.Namespace, root: Path) -> int:
    """Begin a project; raises `CommandError`."""
    begin_allowed(root)
    name = options.project_name if options.project_name is not None else proposed(root.name)
    project = Project(
        name=project_name(name),
        domain=domain(options.domain),
        repo=options.repo,
        multigroup=bool(options.multigroup),
        namespaced=bool(options.namespaced),
    )
    words = header(options.license, options.owner, options.license_file)
    writer = ScaffoldWriter(root, tell=tell)
    begin(writer, project, words)
    _close(writer, project, root, "created")
    say("Next: clientgo create api --group GROUP --version v1alpha1 --kind KIND")
    return 0


def edit(options: argparse.Namespace, root: Path) -> int:
    """Change how a project is laid out, or what its manager may do; raises `CommandError`."""
    project = Project.read(root)
    if options.multigroup is None and options.namespaced is None:
        raise CommandError("there is nothing to change: say --multigroup, --namespaced, or both")
    writer = ScaffoldWriter(root, tell=tell)
    if options.multigroup is not None:
        regroup(project, multigroup=options.multigroup)
    if options.namespaced is not None:
        confine(writer, project, namespaced=options.namespaced)
    _close(writer, project, root, "updated")
    if options.namespaced:
        say("Next: make manifests")
    return 0


def create_api(options: argparse.Namespace, root: Path) -> int:
    """Add a kind, its controller, or both; raises `CommandError`."""
    project = Project.read(root)
    # Kubernetes' kinds have their types already, unless one's own is to be called so.
    known = None if options.resource else built_in(project, options.group, options.version, options.kind)
    resource = known or resource_of(project, options.group, options.version, options.kind, options.plural)
    asks_for_types = options.resource is None and not resource.core
    wants_api = ask("Create Resource", "resource") if asks_for_types else bool(options.resource)
    wants_controller = options.controller if options.controller is not None else ask("Create Controller", "controller")
    controller = controlling(project, resource, options.controller_name)
    if not options.force:
        _refuse_again(resource, [("types", wants_api and resource.api)])
        # One controller is for all versions of a kind.
        for version in (one for one in project.resources if one.kind == resource.kind):
            there = Controlling(version, controller.name).there
            _refuse_again(version, [(f"a controller {controller.name}".rstrip(), wants_controller and there)])
    if wants_api and resource.core:
        raise CommandError(
            f"the project has a controller of Kubernetes' own {resource.kind}: its types are not yours to write"
        )
    if wants_controller and not (wants_api or resource.api or resource.core):
        raise CommandError(f"{_whole(resource)} has no types a controller could be for: say --resource")
    writer = ScaffoldWriter(root, tell=tell, force=options.force)
    if resource not in project.resources and (wants_api or (resource.core and wants_controller)):
        resource.namespaced = resource.namespaced if resource.core else options.namespaced
        project.resources.append(resource)
    if wants_api:
        resource.api = True
        add_api(writer, project, resource)
    if wants_controller:
        controller.note()
        add_controller(writer, project, controller)
    _close(writer, project, root, "updated")
    if not options.make:
        say("Next: make manifests generate")
    return 0


def create_webhook(options: argparse.Namespace, root: Path) -> int:
    """Add webhooks to a kind; raises `CommandError`."""
    project = Project.read(root)
    known = built_in(project, options.group, options.version, options.kind)
    resource = known or resource_of(project, options.group, options.version, options.kind, "")
    if not (resource.api or resource.core):
        raise CommandError(f"{_whole(resource)} is no kind of this project: clientgo create api makes it one")
    wanted = asked(project, resource, options)
    if not options.force:
        _refuse_again(resource, wanted.present(resource))
    writer = ScaffoldWriter(root, tell=tell, force=options.force)
    if resource not in project.resources:
        project.resources.append(resource)
    add_webhooks(writer, project, resource, wanted)
    _close(writer, project, root, "updated")
    say("Next: make manifests; ENABLE_WEBHOOKS=false make run does without certificates")
    return 0


def say(text: str) -> None:
    """Answer the user."""
    print(text)  # noqa: T201  # the command's answer


def tell(done: str, path: str) -> None:
    """Answer what became of a file."""
    say(f"{done:<8} {path}")


def _close(writer: ScaffoldWriter, project: Project, root: Path, done: str) -> None:
    project.write(root)
    writer.note(done, "PROJECT")
    writer.close()


def _refuse_again(resource: Resource, wanted: Iterable[tuple[str, bool]]) -> None:
    for what, there in wanted:
        if there:
            raise CommandError(
                f"{_whole(resource)} has {what} already: --force writes it anew, over what a hand has changed"
            )


def _whole(resource: Resource) -> str:
    return f"{resource.kind} of {resource.whole_group}/{resource.version}"


def ask(question: str, flag: str) -> bool:
    """What the user says to `question`; `flag` is what saves the asking.

    Raises:
        CommandError: there is nobody to answer.
    """
    while True:
        print(f"{question} [y/n] ", end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the user
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)  # noqa: T201  # ends the question's line
            raise CommandError(f"there is no answer: say --{flag} or --{flag}=false")
        answer = line.strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no"):
            return False


_APACHE = """\
Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
"""
"""The notice that the License's own appendix asks for."""


def header(licence: str, owner: str, file: str) -> str:
    """The text that generated files begin with, as comment lines; empty if nobody said anything about it.

    No year stands in it: what is generated again next year has to be the same.

    Raises:
        CommandError: the file with the words can't be read.
    """
    try:
        own = Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read --license-file {file}: {reason_of(error)}") from error
    owner = " ".join(owner.split())
    said = [f"Copyright {owner}\n" if owner else "", own or (_APACHE if licence == "apache2" else "")]
    lines = "\n".join(part for part in said if part).splitlines()
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def regroup(project: Project, *, multigroup: bool) -> None:
    """Let kinds that come from now on lie below folders of their group, or no longer.

    Those that are there stay where they are, which PROJECT remembers: nothing that imports them has to change.

    Raises:
        CommandError: there is more than one group.
    """
    groups = sorted({one.group for one in project.resources if not one.core})
    if not multigroup and len(groups) > 1:
        raise CommandError(f"the project has {len(groups)} groups ({', '.join(groups)}): it can't go back to one")
    project.multigroup = multigroup


def confine(writer: ScaffoldWriter, project: Project, *, namespaced: bool) -> None:
    """Have the manager watch its own namespace, with a Role instead of a ClusterRole.

    Raises:
        CommandError: it was so once and shall be no longer.
    """
    if project.namespaced and not namespaced:
        raise CommandError(
            "what was written for one namespace is not taken back: take role-namespace out of hack/manifests.yaml,"
            " WATCH_NAMESPACE out of config/manager/manager.yaml, the Namespace's patch out of"
            " config/default/kustomization.yaml, and namespaced out of PROJECT; then bind the ClusterRole in"
            " config/rbac/role_binding.yaml"
        )
    if namespaced:
        project.namespaced = True
        for part in parts("namespaced", {"project": project.name}):
            writer.add(part)
