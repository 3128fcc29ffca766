"""The commands `init`, `edit` and `create`: they print the files they wrote and return an exit code.

They decide which parts of a project are written: types, controller, webhooks. The files of each part are those of its
template (`templates/api.tmpl`), which `scaffold.py`, `controllers.py` and `webhooks.py` fill in.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from clientgo.cli.controllers import Controlling, add_controller, built_in, check_spelling, controlling
from clientgo.cli.names import CERT_MANAGER, CommandError, domain, project_name, proposed
from clientgo.cli.project import Project, ProjectResource
from clientgo.cli.scaffold import add_api, add_definition, begin, begin_allowed, resource_of
from clientgo.cli.scaffold_writer import ScaffoldWriter, parts
from clientgo.cli.webhooks import add_webhooks, asked, confine_webhooks
from clientgo.cli.wheels import add_wheels
from clientgo.codegen.problems import reason_of


def init(options: argparse.Namespace, root: Path) -> int:
    """Create a project; raises `CommandError`."""
    begin_allowed(root)
    name = options.project_name if options.project_name is not None else proposed(root.name)
    project = Project(
        name=project_name(name),
        domain=domain(options.domain),
        repo=options.repo,
        certificates=options.certificates or CERT_MANAGER,
        index_url=options.index_url or "",
        multigroup=bool(options.multigroup),
        namespaced=bool(options.namespaced),
    )
    words = header(options.license, options.owner, options.license_file)
    writer = ScaffoldWriter(root, tell=tell)
    if options.clientgo_from:
        for wheel in add_wheels(root, options.clientgo_from):
            writer.note("created", wheel)
    begin(writer, project, root, words)
    _close(writer, project, root, "created")
    if not options.clientgo_from and not options.index_url:
        print(  # noqa: T201  # a warning to the user
            "clientgo init: warning: wheels/ has no wheel of clientgo, which the project's image and CI need: run"
            " clientgo upgrade with --clientgo-from PATH, a checkout or a wheel of clientgo, or with --index-url URL",
            file=sys.stderr,
        )
    say("Next: clientgo create api --group GROUP --version v1alpha1 --kind KIND")
    return 0


def edit(options: argparse.Namespace, root: Path) -> int:
    """Change the settings of a project; raises `CommandError`."""
    project = Project.read(root)
    if options.multigroup is None and options.namespaced is None:
        raise CommandError("nothing to change: give --multigroup, --namespaced, or both")
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
    """Add an API type, its controller, or both; raises `CommandError`."""
    project = Project.read(root)
    resource, definition = _defined(project, options) if options.from_crd else (_resource(project, options), "")
    asks_for_types = options.resource is None and not resource.foreign
    wants_api = ask("Create Resource", "resource") if asks_for_types else bool(options.resource)
    wants_controller = options.controller if options.controller is not None else ask("Create Controller", "controller")
    controller = controlling(project, resource, options.controller_name)
    if not options.force:
        _refuse_again(resource, [("types", wants_api and resource.api)])
        _refuse_second(project, controller, requested=wants_controller)
    _apply_options(project, resource, options, types=wants_api)
    if wants_api and resource.foreign:
        raise CommandError(f"{resource.kind} is not defined in this project: its types cannot be scaffolded")
    if wants_controller and not (wants_api or resource.api or resource.foreign):
        raise CommandError(f"{_whole(resource)} has no types: add them with --resource")
    writer = ScaffoldWriter(root, tell=tell, force=options.force)
    if resource not in project.resources and (wants_api or definition or (resource.core and wants_controller)):
        project.resources.append(resource)
    if definition:
        add_definition(writer, project, resource, definition)
    if wants_api:
        resource.api = True
        add_api(writer, project, resource)
    if wants_controller:
        controller.note()
        add_controller(writer, project, controller)
    _close(writer, project, root, "updated")
    if definition:
        say(f"The types will be in {resource.path}")
    if not options.make:
        edited = f"edit the spec in {resource.path.replace('.', '/')} and config/samples, then " if wants_api else ""
        say(f"Next: {edited}make manifests generate")
    return 0


def _apply_options(project: Project, resource: ProjectResource, options: argparse.Namespace, *, types: bool) -> None:
    """Set the scope of a kind; raise `CommandError` for an option that would change nothing."""
    if options.controller_name and options.controller is False:
        raise CommandError("--controller-name requires a controller: omit --controller=false")
    versions = [each for each in project.resources if each.is_kind_of(resource) and each is not resource]
    fixed = "" if types and not resource.foreign else "its types are not scaffolded by this command"
    fixed = f"that of {versions[0].version} is the same, as in all versions" if versions else fixed
    plural = versions[0].plural if versions else resource.plural
    if options.plural and options.plural != plural:
        raise CommandError(f"cannot change the plural {plural!r} of {resource.kind} by --plural")
    namespaced = versions[0].namespaced if versions else resource.namespaced
    if options.namespaced is not None and options.namespaced != namespaced:
        if fixed:
            scope = "namespaced" if namespaced else "cluster-scoped"
            raise CommandError(f"cannot change the scope of {resource.kind} by --namespaced, it is {scope}: {fixed}")
        namespaced = options.namespaced
    resource.namespaced = namespaced


def _refuse_second(project: Project, controller: Controlling, *, requested: bool) -> None:
    # One controller reconciles all versions of a kind.
    for version in filter(controller.resource.is_kind_of, project.resources):
        existing = Controlling(version, controller.name).there
        _refuse_again(version, [(f"a controller {controller.name}".rstrip(), requested and existing)])


def _defined(project: Project, options: argparse.Namespace) -> tuple[ProjectResource, str]:
    if options.resource:
        raise CommandError("--from-crd generates the types of a third-party kind: omit --resource")
    # Imported here: the generators take half of the start-up time, and only this option needs them.
    from clientgo.cli.external import read_definition  # noqa: PLC0415

    return read_definition(project, options.from_crd, options.group, options.version, options.kind)


def _resource(project: Project, options: argparse.Namespace) -> ProjectResource:
    key = (options.group, options.version, options.kind)
    # Built-in kinds already have types; --resource asks for a new kind of the same name.
    existing = None if options.resource else built_in(project, *key) or project.find(*key)
    if existing is None and not options.resource:
        check_spelling(*key)
        if options.resource is False:
            raise CommandError(
                f"{_named(*key)} has no types in this project: scaffold them with --resource, or generate those of a"
                " third-party kind with --from-crd FILE"
            )
    return existing or resource_of(project, *key, options.plural)


def create_webhook(options: argparse.Namespace, root: Path) -> int:
    """Add webhooks to a kind; raises `CommandError`."""
    project = Project.read(root)
    key = (options.group, options.version, options.kind)
    resource = built_in(project, *key) or project.find(*key)
    if resource is None or not (resource.api or resource.foreign):
        check_spelling(*key, remedy="to define the kind, use clientgo create api")
        raise CommandError(f"{_named(*key)} not found in this project: add it with clientgo create api")
    requested = asked(project, resource, options)
    if not options.force:
        _refuse_again(resource, requested.present(resource))
    writer = ScaffoldWriter(root, tell=tell, force=options.force)
    if resource not in project.resources:
        project.resources.append(resource)
    add_webhooks(writer, project, resource, requested)
    _close(writer, project, root, "updated")
    say("Next: make install, which installs the webhooks on the cluster of make cluster")
    return 0


def say(text: str) -> None:
    """Print a line of output."""
    print(text, flush=True)  # noqa: T201  # the command's answer


def tell(done: str, path: str) -> None:
    """Print the result for a file."""
    say(f"{done:<8} {path}")


def _close(writer: ScaffoldWriter, project: Project, root: Path, done: str) -> None:
    project.write(root)
    writer.note(done, "PROJECT")
    writer.close()


def _refuse_again(resource: ProjectResource, requested: Iterable[tuple[str, bool]]) -> None:
    for what, exists in requested:
        if exists:
            raise CommandError(f"{_whole(resource)} already has {what}: use --force to overwrite it")


def _whole(resource: ProjectResource) -> str:
    return _named(resource.whole_group, resource.version, resource.kind)


def _named(group: str, version: str, kind: str) -> str:
    return f"{kind} of {group}/{version}"


def ask(question: str, flag: str) -> bool:
    """Ask a yes/no question on standard error and return the answer; `flag` is the option that answers it.

    Raises:
        CommandError: standard input is closed.
    """
    while True:
        print(f"{question} [y/n] ", end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the user
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)  # noqa: T201  # ends the question's line
            raise CommandError(f"no answer on standard input: give --{flag} or --{flag}=false")
        reply = line.strip().lower()
        if reply in ("y", "yes"):
            return True
        if reply in ("n", "no"):
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
"""The notice from the appendix of the licence."""


def header(licence: str, owner: str, file: str) -> str:
    """Return the header of generated files as comment lines; empty if no option asks for one.

    It names no year, so that files generated next year are the same.

    Raises:
        CommandError: the license file cannot be read.
    """
    try:
        text = Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read --license-file {file}: {reason_of(error)}") from error
    owner = " ".join(owner.split())
    notices = [f"Copyright {owner}\n" if owner else "", text or (_APACHE if licence == "apache2" else "")]
    lines = "\n".join(part for part in notices if part).splitlines()
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def regroup(project: Project, *, multigroup: bool) -> None:
    """Set whether new kinds are placed in folders of their group; existing files do not move.

    Raises:
        CommandError: there is more than one group.
    """
    groups = sorted({resource.group for resource in project.resources if not resource.foreign})
    if not multigroup and len(groups) > 1:
        raise CommandError(f"cannot disable multigroup: the project has {len(groups)} groups ({', '.join(groups)})")
    project.multigroup = multigroup


def confine(writer: ScaffoldWriter, project: Project, *, namespaced: bool) -> None:
    """Restrict the manager to its own namespace, with a Role instead of a ClusterRole.

    Raises:
        CommandError: the restriction would be removed.
    """
    if project.namespaced and not namespaced:
        raise CommandError(
            "cannot undo --namespaced automatically: remove role-namespace from hack/manifests.yaml, WATCH_NAMESPACE"
            " from config/manager/manager.yaml, the Namespace's patch and any namespaceSelector from"
            " config/default/kustomization.yaml, and namespaced from PROJECT; then bind the ClusterRole in"
            " config/rbac/role_binding.yaml"
        )
    if namespaced:
        project.namespaced = True
        writer.add(*parts("namespaced", {"project": project.name}))
        confine_webhooks(writer, project)
