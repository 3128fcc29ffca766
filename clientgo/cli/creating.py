"""What `init`, `create api` and `create webhook` do in a folder; each tells what it wrote and returns the exit code."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from clientgo.cli.asking import ask
from clientgo.cli.names import Refused, domain, project_name, proposed
from clientgo.cli.project import Project, Resource
from clientgo.cli.scaffold import add_api, add_controller, add_webhooks, begin, begin_allowed, resource_of
from clientgo.cli.tree import Tree


def init(options: argparse.Namespace, root: Path) -> int:
    """Begin a project; raises `Refused`."""
    begin_allowed(root)
    name = options.project_name if options.project_name is not None else proposed(root.name)
    project = Project(name=project_name(name), domain=domain(options.domain), repo=options.repo)
    tree = Tree(root, tell=tell)
    begin(tree, project)
    _close(tree, project, root, "created")
    say("Next: clientgo create api --group GROUP --version v1alpha1 --kind KIND")
    return 0


def create_api(options: argparse.Namespace, root: Path) -> int:
    """Add a kind, its controller, or both; raises `Refused`."""
    project = Project.read(root)
    resource = resource_of(project, options.group, options.version, options.kind, options.plural)
    wants_api = options.resource if options.resource is not None else ask("Create Resource", "resource")
    wants_controller = options.controller if options.controller is not None else ask("Create Controller", "controller")
    if not options.force:
        _refuse_again(resource, [("types", wants_api and resource.api)])
        # One controller is for all versions of a kind.
        versions = (one for one in project.resources if one.kind == resource.kind and one.controller)
        for controlled in versions:
            _refuse_again(controlled, [("a controller", wants_controller)])
    if wants_controller and not (wants_api or resource.api):
        raise Refused(f"{_whole(resource)} has no types a controller could be for: say --resource")
    tree = Tree(root, tell=tell, force=options.force)
    if resource not in project.resources and wants_api:
        resource.namespaced = options.namespaced
        project.resources.append(resource)
    if wants_api:
        resource.api = True
        add_api(tree, project, resource)
    if wants_controller:
        resource.controller = True
        add_controller(tree, project, resource)
    _close(tree, project, root, "updated")
    say("Next: make manifests generate")
    return 0


def create_webhook(options: argparse.Namespace, root: Path) -> int:
    """Add webhooks to a kind; raises `Refused`."""
    project = Project.read(root)
    resource = resource_of(project, options.group, options.version, options.kind, "")
    chosen = {"defaulting": options.defaulting, "validation": options.programmatic_validation}
    sorts = [sort for sort, wanted in chosen.items() if wanted]
    if not resource.api:
        raise Refused(f"{_whole(resource)} is no kind of this project: clientgo create api makes it one")
    if not sorts:
        raise Refused("there is nothing to create: say --defaulting, --programmatic-validation, or both")
    if not options.force:
        _refuse_again(resource, [(f"a webhook for {sort}", bool(resource.webhooks.get(sort))) for sort in sorts])
    tree = Tree(root, tell=tell, force=options.force)
    add_webhooks(tree, project, resource, sorts)
    resource.webhooks |= dict.fromkeys(sorts, True)
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
