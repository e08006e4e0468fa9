# tries: ends its launcher, the first process of the sandbox, Proctor, and everything that it can
# held-by: it reaches its own processes alone; the trial is an error, and its tests still run
# levels: bubblewrap container
# ends: error

#: agent
echo tried > tried
kill -9 $ATTACK_PID 1
kill -9 $PPID
kill -9 -1
#: control tried
test -s tried
#: wrong wrong
exit 1
