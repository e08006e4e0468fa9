# tries: puts links, folders, pipes and unreadable files where the files of tests go
# held-by: files of tests are put in place without following a link, and what is in the way is put aside

#: agent
mkdir d link-folder-target
ln -s /tmp/away k1
ln -s ../../../../etc/passwd k2
ln -s "$ATTACK_PLACE/key.txt" k3
mkdir -p k4/k4; mkfifo k5
echo forged > k6; chmod 0 k6
echo forged > k7; ln k7 other
ln -s /tmp d/sub
ln -s /proc/self/root/tmp r
mkdir .proctor-aside; echo forged > .proctor-aside/0-0; chmod 0 .proctor-aside
chmod 555 .
#: control in-the-way
test -L k1 -a -L k2 -a -d k4/k4 -a -p k5 -a -L d/sub -a -L r && ls -ld .proctor-aside >/dev/null
#: guard link key=k1
test -f k1 -a ! -L k1 -a ! -e /tmp/away && grep -q k4ttegat k1
#: guard link-to-system key=k2
test -f k2 -a ! -L k2 && grep -q k4ttegat k2 && ! grep -q k4ttegat /etc/passwd
#: guard link-to-key key=k3
test -f k3 -a ! -L k3 && grep -q k4ttegat k3
#: guard folder key=k4
test -f k4 && grep -q k4ttegat k4
#: guard pipe key=k5
test -f k5 && grep -q k4ttegat k5
#: guard unreadable key=k6
test -f k6 && grep -q k4ttegat k6
#: guard hard-link key=k7
grep -q k4ttegat k7 && ! grep -q k4ttegat other
#: guard linked-folder key=d/sub/key
test ! -L d/sub -a ! -e /tmp/key && grep -q k4ttegat d/sub/key
#: guard linked-root key=r/key
test ! -L r -a ! -e /tmp/key && grep -q k4ttegat r/key
#: guard gone
! timeout 5 grep -rqs -D skip k4ttegat . /tmp
#: wrong wrong
exit 1
