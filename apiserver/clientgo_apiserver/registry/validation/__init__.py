"""Validation of built-in kinds: rules as data, and named functions for what depends on several fields.

The rules are in the `*.txt` files of this folder and its subfolders, in the order in which Kubernetes reports errors. A
section describes a type; types refer to each other by `@Type`. The section of a kind's root has the name of the kind,
`Kind.group` where groups share the name; `[Kind/status]` has the rules of updates of its status or another subresource,
which has no others.

    [PodSpec]
    containers            required
    containers[]          @Container
    restartPolicy!        supported Always,OnFailure,Never
    dnsConfig             required "must provide `dnsConfig` when `dnsPolicy` is None"   when dnsPolicy = None
    securityContext.sysctls[].name   required
    tolerations           tolerations

A line is `PATH RULE [ARGUMENT...] [at PATH] [when CONDITION [and CONDITION...]]`; `unless` may stand for `when`.

- **Path**: fields from the type's value, separated by dots; `.` is the value itself. `[]` stands for each item of a
  list, `{}` for each value of a map. A rule is skipped if a field on its path is absent, except rules about absence and
  updates (`required`, `immutable`) at the last field. `field!` reads an absent field as empty (a Go struct instead of a
  pointer): `spec!.selector required`, `template! @PodTemplateSpec`.
- **at**: where Kubernetes reports the error if not at the path; `at .` is the value itself.
- **Rule**: `@Type`, or the name of a function that a module registers by `@rule()`: `generic.py` has the general ones,
  the other modules those of single kinds. Digits become integers, a comma-separated argument stays one string.
- **Condition**: `path` (not empty), `path empty`, `path set` (present, even if it is empty), `path unset`,
  `path = value`, `path != value`, `path in a,b`, relative to the type's value like the rule's path; `Type:path` is
  relative to the nearest enclosing value of a type. `create` and `update` hold for these operations, and
  `path changed` for new objects and where the value is not that of the object before.

A function takes `(value, scope, *arguments)` and returns the errors, whose fields are relative to the value ("" is the
value itself). `scope.value` is the value of the type, `scope.old` the one it replaces if it was reached without passing
a list or map (None when created), `scope.enclosing(name)` the nearest enclosing value of a type and `scope.root` the
scope of the whole object.
`@rule(absent=True)` is also called with None for an absent field; `@rule(update=True)` is called as
`(new, old, scope, *arguments)`, and only on updates.
"""
