"""What `init`, `edit` and `create` do in a folder; each tells what it wrote and returns the exit code."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from clientgo.cli.asking import ask
from clientgo.cli.controllers import Controlling, add_controller, built_in, controlling
from clientgo.cli.layout import confine, header, regroup
from clientgo.cli.names import Refused, domain, project_name, proposed
from clientgo.cli.project import Project, Resource
from clientgo.cli.scaffold import add_api, begin, begin_allowed, resource_of
from clientgo.cli.tree import Tree
from clientgo.cli.webhooks import add_webhooks, asked


def init(options: argparse.Namespace, root: Path) -> int:
    """Begin a project; raises `Refused`."""
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
    tree = Tree(root, tell=tell)
    begin(tree, project, words)
    _close(tree, project, root, "created")
    say("Next: clientgo create api --group GROUP --version v1alpha1 --kind KIND")
    return 0


def edit(options: argparse.Namespace, root: Path) -> int:
    """Change how a project is laid out, or what its manager may do; raises `Refused`."""
    project = Project.read(root)
    if options.multigroup is None and options.namespaced is None:
        raise Refused("there is nothing to change: say --multigroup, --namespaced, or both")
    tree = Tree(root, tell=tell)
    if options.multigroup is not None:
        regroup(project, multigroup=options.multigroup)
    if options.namespaced is not None:
        confine(tree, project, namespaced=options.namespaced)
    _close(tree, project, root, "updated")
    if options.namespaced:
        say("Next: make manifests")
    return 0


def create_api(options: argparse.Namespace, root: Path) -> int:
    """Add a kind, its controller, or both; raises `Refused`."""
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
        raise Refused(
            f"the project has a controller of Kubernetes' own {resource.kind}: its types are not yours to write"
        )
    if wants_controller and not (wants_api or resource.api or resource.core):
        raise Refused(f"{_whole(resource)} has no types a controller could be for: say --resource")
    tree = Tree(root, tell=tell, force=options.force)
    if resource not in project.resources and (wants_api or (resource.core and wants_controller)):
        resource.namespaced = resource.namespaced if resource.core else options.namespaced
        project.resources.append(resource)
    if wants_api:
        resource.api = True
        add_api(tree, project, resource)
    if wants_controller:
        controller.note()
        add_controller(tree, project, controller)
    _close(tree, project, root, "updated")
    if not options.make:
        say("Next: make manifests generate")
    return 0


def create_webhook(options: argparse.Namespace, root: Path) -> int:
    """Add webhooks to a kind; raises `Refused`."""
    project = Project.read(root)
    known = built_in(project, options.group, options.version, options.kind)
    resource = known or resource_of(project, options.group, options.version, options.kind, "")
    if not (resource.api or resource.core):
        raise Refused(f"{_whole(resource)} is no kind of this project: clientgo create api makes it one")
    wanted = asked(project, resource, options)
    if not options.force:
        _refuse_again(resource, wanted.present(resource))
    tree = Tree(root, tell=tell, force=options.force)
    if resource not in project.resources:
        project.resources.append(resource)
    add_webhooks(tree, project, resource, wanted)
    _close(tree, project, root, "updated")
    say("Next: make manifests; ENABLE_WEBHOOKS=false make run does without certificates")
    return 0


def say(text: str) -> None:
    """Answer the user."""
    print(text)  # noqa: T201  # the command's answer


def tell(done: str, path: str) -> None:
    """Answer what became of a file."""
    say(f"{done:<8} {path}")


def _close(tree: Tree, project: Project, root: Path, done: str) -> None:
    project.write(root)
    tree.note(done, "PROJECT")
    tree.close()


def _refuse_again(resource: Resource, wanted: Iterable[tuple[str, bool]]) -> None:
    for what, there in wanted:
        if there:
            raise Refused(
                f"{_whole(resource)} has {what} already: --force writes it anew, over what a hand has changed"
            )


def _whole(resource: Resource) -> str:
    return f"{resource.kind} of {resource.whole_group}/{resource.version}"
