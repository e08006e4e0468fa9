# tries: marks its files as an overlay file system would, so that others are shown in their place
# held-by: the kernel keeps such marks of users apart from its own
# needs: python3

#: agent
mkdir folder; echo mine > folder/file; echo mine > file
python3 - <<'X'
import os
for path in ("folder", "file", "folder/file"):
    for name, value in (("opaque", b"y"), ("redirect", b"/etc"), ("metacopy", b""), ("origin", b"x"), ("whiteout", b"y")):
        for space in ("user.overlay.", "trusted.overlay.", "user.overlay.overlay."):
            try:
                os.setxattr(path, space + name, value)
            except OSError:
                pass
X
echo tried > tried
#: control tried
test -s tried
#: guard same
test "$(cat file)" = mine && test "$(cat folder/file)" = mine && test "$(ls folder)" = file
#: wrong wrong
exit 1
