# tries: reaches an abstract socket of this machine, which is no file
# held-by: Landlock (version 6 of its interface) shuts them off
# needs: python3
# heard: control

#: agent
python3 - <<'X'
import os, socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("\0" + os.environ["ATTACK_SOCKET"])
    s.sendall(b"agent\n")
except OSError as error:
    open("refused", "w").write(str(error))
X
echo tried > tried
#: guard refused
test -s refused
#: wrong wrong
exit 1
#: control reached
test -s tried
python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); s.connect("\0" + os.environ["ATTACK_SOCKET"]); s.sendall(b"control\n")'
