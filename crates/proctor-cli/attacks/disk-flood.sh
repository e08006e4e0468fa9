# tries: fills the disk
# held-by: a trial that passes its limit is ended
# limits: disk=33554432
# ends: error

#: agent
for i in $(seq 3000); do head -c 1048576 /dev/zero > f$i; done
echo all > finished
#: control begun
test -s f1
#: guard ended
test ! -e finished
#: wrong wrong
exit 1
