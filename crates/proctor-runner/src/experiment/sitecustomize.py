# Read by every Python of a test before its script. The workspace, which is the agent's, comes first
# where Python looks for modules: a file `json.py` there would be what a test gets for `import json`.
# So the standard library, and pytest, are looked for where they are installed. Everything else is
# found as ever. `test` stays with the workspace: many projects have a folder of that name.
import sys


def _install():
    mine = __file__.rsplit("/", 1)[0]
    sys.path[:] = [path for path in sys.path if path != mine]
    finders = [one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder"]
    if not finders:
        return
    finder = finders[0]
    installed = list(sys.path)
    library = [path for path in installed if path.startswith((sys.prefix, sys.base_prefix))]
    library = [path for path in library if "-packages" not in path]
    runners = {"pytest", "_pytest", "pluggy"}

    class Installed:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if path is not None or name == "test":
                return None
            where = installed if name in runners else library
            spec = finder.find_spec(name, where)
            return spec if spec is not None and spec.loader is not None else None

    sys.meta_path.insert(sys.meta_path.index(finder), Installed)
    # The one whose place this file took.
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize
    except ImportError:
        pass
    sys.modules.setdefault("sitecustomize", own)


_install()
