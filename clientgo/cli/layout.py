"""What a whole project is like: of one group or several, of one namespace or all, and how its generated files begin."""

from pathlib import Path

from clientgo.cli.archive import parts
from clientgo.cli.names import Refused
from clientgo.cli.project import Project
from clientgo.cli.tree import Tree
from clientgo.codegen.problems import reason_of

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
        Refused: the file with the words can't be read.
    """
    try:
        own = Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"cannot read --license-file {file}: {reason_of(error)}") from error
    owner = " ".join(owner.split())
    said = [f"Copyright {owner}\n" if owner else "", own or (_APACHE if licence == "apache2" else "")]
    lines = "\n".join(part for part in said if part).splitlines()
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def regroup(project: Project, *, multigroup: bool) -> None:
    """Let kinds that come from now on lie below folders of their group, or no longer.

    Those that are there stay where they are, which PROJECT remembers: nothing that imports them has to change.

    Raises:
        Refused: there is more than one group.
    """
    groups = sorted({one.group for one in project.resources if not one.core})
    if not multigroup and len(groups) > 1:
        raise Refused(f"the project has {len(groups)} groups ({', '.join(groups)}): it can't go back to one")
    project.multigroup = multigroup


def confine(tree: Tree, project: Project, *, namespaced: bool) -> None:
    """Have the manager watch its own namespace, with a Role instead of a ClusterRole.

    Raises:
        Refused: it was so once and shall be no longer.
    """
    if project.namespaced and not namespaced:
        raise Refused(
            "what was written for one namespace is not taken back: take role-namespace out of hack/manifests.yaml,"
            " WATCH_NAMESPACE out of config/manager/manager.yaml, the Namespace's patch out of"
            " config/default/kustomization.yaml, and namespaced out of PROJECT; then bind the ClusterRole in"
            " config/rbac/role_binding.yaml"
        )
    if namespaced:
        project.namespaced = True
        for part in parts("namespaced", {"project": project.name}):
            tree.add(part)
