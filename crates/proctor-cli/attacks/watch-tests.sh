# tries: leaves a process behind that reads the command lines of tests while they run
# held-by: no process of the agent is left; where tests look at what still runs, no script is in an argument

#: agent
setsid bash -c 'while :; do
    for p in /proc/[0-9]*; do tr "\0" "\n" < $p/cmdline; done >> watched 2>/dev/null
done' >/dev/null 2>&1 </dev/null &
until test -s watched; do sleep 0.01; done
#: guard unseen live
: this-1ine-is-in-no-other-place
for i in $(seq 50); do grep -q 'this-1ine-is-in-no-other-plac[e]' watched && exit 1; sleep 0.01; done
true
#: control seen live
bash -c 'for i in $(seq 200); do : this-1ine-can-be-seen; grep -q "this-1ine-can-be-see[n]" watched && exit 0; sleep 0.01; done; exit 1'
#: wrong wrong
exit 1
