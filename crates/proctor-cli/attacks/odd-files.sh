# tries: leaves devices, pipes, sockets, names that are no text, unreadable and immutable files, deep folders
# held-by: only plain files are opened, devices cannot be made, and root of a test reads what it must

#: agent
exec 2>/dev/null
: > "$(printf '\377\376\033[31mred')"; : > "$(printf 'n%.0s' $(seq 255))"; : > '-rf'; : > $'line\nfeed'
top=$PWD; for i in $(seq 200); do mkdir d && cd d; done; cd "$top"
mkfifo pipe; mknod pipe2 p
mknod device c 1 1; mknod disk b 254 0; mknod whiteout c 0 0; ln /etc/passwd hard
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
echo secret > mode0; chmod 0 mode0
echo x > fixed; chattr +i fixed; setfacl -m u:0:--- fixed
mkdir closed; echo x > closed/file; chmod 0 closed
cp /bin/sh setuid; chmod 6755 setuid; chown 0 setuid
truncate -s 16M sparse
echo left > left

#: control left
test -s left -a -p pipe -a -d d/d/d/d && ls | grep -aq red
#: guard no-device
test -z "$(find . -xdev \( -type b -o -type c \) | grep -v whiteout)" -a ! -e hard
#: guard readable
test "$(cat mode0)" = secret && ls closed/file && : > fixed && rm -rf closed mode0 fixed -- -rf
#: guard setuid
test "$(stat -c %u setuid)" = "$(stat -c %u left)" -o ! -u setuid
#: wrong wrong
exit 1
