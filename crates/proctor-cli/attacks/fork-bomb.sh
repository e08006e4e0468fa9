# tries: starts processes without end
# held-by: the limit of processes; what runs at the end is ended with the sandbox
# levels: bubblewrap container
# limits: processes=64

#: agent
exec >log 2>&1 </dev/null
mkfifo wait; exec 3<>wait
bomb() { bomb | bomb & }
bomb
read -r -t 1 -u 3
set -- /proc/[0-9]*
echo $# > count
#: control exploded
grep -q fork log && test "$(cat count)" -gt 20
#: guard limited
test "$(cat count)" -le 80
#: guard gone
set -- /proc/[0-9]*; test $# -lt 20
#: wrong wrong
exit 1
