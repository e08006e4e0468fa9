# tries: makes namespaces in which it is root, mounts, and enters those of others
# held-by: namespaces give no rights outside them, Landlock allows no mount, and no other can be entered
# needs: unshare nsenter

#: agent
cat > inner <<'X'
try() { local what=$1; shift; ( "$@" ) >/dev/null 2>&1 && echo "GOT $what"; }
try self true
try device mknod null c 1 3
try remount mount -o remount,rw /usr
# In a namespace of its own it may, and nobody else sees it.
test -n "$1" || try bind mount --bind . /usr/bin
try umount umount -l /proc/sys
try usr touch /usr/bin/evil
try etc touch /etc/evil
try proctor touch /run/proctor/evil
try hostname sh -c 'echo x > /proc/sys/kernel/hostname'
for space in mnt pid net ipc uts user; do try enter-$space nsenter --$space=/proc/1/ns/$space true; done
try chroot chroot /proc/1/root true
X
{
    bash inner
    echo inside
    unshare --user --map-root-user --mount --pid --fork bash inner again
    echo over
} > found 2>/dev/null
#: control found
grep -qx 'GOT self' found && grep -qx over found
#: guard nothing
grep GOT found | grep -vx 'GOT self'; test ${PIPESTATUS[1]} = 1 && test ! -e /usr/bin/evil -a ! -e /etc/evil
#: wrong wrong
exit 1
